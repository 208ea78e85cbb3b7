"""YAML text to plain data, with the tags that recorders of several languages write."""

from __future__ import annotations

from typing import Any

from otel_raglog_proxy_bridge.capture_files.raw_values import BadCapture, DamagedItem, base64_body


class DamagedYaml(BadCapture):
    """A text that is no YAML."""


def load_yaml(content: bytes) -> object:
    """Return the data in ``content``: no tag makes anything but text, numbers, lists, mappings.

    Raises:
        DamagedYaml: it is none.
        BadCapture: PyYAML is not there.
    """
    try:
        import yaml  # noqa: PLC0415  the bridge needs the standard library alone
    except ModuleNotFoundError:
        raise BadCapture("a cassette in YAML, which needs pip install pyyaml") from None
    try:
        return yaml.load(content, Loader=_loader(yaml))  # noqa: S506  a safe loader
    except yaml.MarkedYAMLError as error:
        # Its own text may quote the file, and with it a secret.
        where = f", as line {error.problem_mark.line + 1} tells" if error.problem_mark else ""
        raise DamagedYaml(f"a cassette that is no YAML{where}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise DamagedYaml(f"a cassette that is no YAML: {type(error).__name__}") from None
    except (ValueError, LookupError, ArithmeticError, AttributeError, TypeError):
        # PyYAML's constructors let these out for values that do not fit their tags.
        raise DamagedYaml("a cassette that is no YAML: a value that does not fit its tag") from None


def _loader(yaml: Any) -> Any:
    safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(safe):  # type: ignore[misc]
        """A safe loader that takes tags of other languages for what they stand on."""

    def plain(loader: Any, _suffix: str, node: Any) -> object:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return loader.construct_scalar(node)

    def binary(loader: Any, node: Any) -> bytes:
        try:
            return base64_body(loader.construct_scalar(node))
        except DamagedItem:
            raise yaml.constructor.ConstructorError(
                None, None, "binary that is no base64", node.start_mark
            ) from None

    for tag in ("!binary", "tag:yaml.org,2002:binary"):
        Loader.add_constructor(tag, binary)
    for prefix in ("!", "tag:yaml.org,2002:python/"):
        Loader.add_multi_constructor(prefix, plain)
    return Loader
