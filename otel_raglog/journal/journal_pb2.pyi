from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SignalCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIGNAL_UNKNOWN: _ClassVar[SignalCode]
    SIGNAL_TRACES: _ClassVar[SignalCode]
    SIGNAL_METRICS: _ClassVar[SignalCode]
    SIGNAL_LOGS: _ClassVar[SignalCode]
SIGNAL_UNKNOWN: SignalCode
SIGNAL_TRACES: SignalCode
SIGNAL_METRICS: SignalCode
SIGNAL_LOGS: SignalCode

class Header(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    value: bytes
    def __init__(self, name: _Optional[bytes] = ..., value: _Optional[bytes] = ...) -> None: ...

class RequestHead(_message.Message):
    __slots__ = ("signal", "headers", "items", "own")
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    signal: SignalCode
    headers: _containers.RepeatedCompositeFieldContainer[Header]
    items: int
    own: bool
    def __init__(self, signal: _Optional[_Union[SignalCode, str]] = ..., headers: _Optional[_Iterable[_Union[Header, _Mapping]]] = ..., items: _Optional[int] = ..., own: _Optional[bool] = ...) -> None: ...

class Piece(_message.Message):
    __slots__ = ("request", "ordinals", "additions")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    ORDINALS_FIELD_NUMBER: _ClassVar[int]
    ADDITIONS_FIELD_NUMBER: _ClassVar[int]
    request: int
    ordinals: _containers.RepeatedScalarFieldContainer[int]
    additions: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, request: _Optional[int] = ..., ordinals: _Optional[_Iterable[int]] = ..., additions: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("signal", "items", "pieces", "trace_id", "late_addition", "payload_bytes", "unix_seconds")
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    LATE_ADDITION_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_BYTES_FIELD_NUMBER: _ClassVar[int]
    UNIX_SECONDS_FIELD_NUMBER: _ClassVar[int]
    signal: SignalCode
    items: int
    pieces: _containers.RepeatedCompositeFieldContainer[Piece]
    trace_id: bytes
    late_addition: bytes
    payload_bytes: int
    unix_seconds: int
    def __init__(self, signal: _Optional[_Union[SignalCode, str]] = ..., items: _Optional[int] = ..., pieces: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ..., trace_id: _Optional[bytes] = ..., late_addition: _Optional[bytes] = ..., payload_bytes: _Optional[int] = ..., unix_seconds: _Optional[int] = ...) -> None: ...
