"""The faults of the lab: one line each."""

from __future__ import annotations

from otel_raglog.errors import BadInput
from otel_raglog.lab.inject.answer_without_evidence import AnswerWithoutEvidence
from otel_raglog.lab.inject.blank_slot import BlankSlot
from otel_raglog.lab.inject.chunk_cut import ChunkCut
from otel_raglog.lab.inject.claim_from_other_document import ClaimFromOtherDocument
from otel_raglog.lab.inject.cut_off import CutOff
from otel_raglog.lab.inject.cut_to_half import CutToHalf
from otel_raglog.lab.inject.date_dropped import DateDropped
from otel_raglog.lab.inject.encoding_garbage import EncodingGarbage
from otel_raglog.lab.inject.entity_replaced import EntityReplaced
from otel_raglog.lab.inject.evidence_below_cutoff import EvidenceBelowCutoff
from otel_raglog.lab.inject.evidence_in_middle import EvidenceInMiddle
from otel_raglog.lab.inject.evidence_removed import EvidenceRemoved
from otel_raglog.lab.inject.fault import Fault
from otel_raglog.lab.inject.history_misread import HistoryMisread
from otel_raglog.lab.inject.item_omitted import ItemOmitted
from otel_raglog.lab.inject.last_chunks_dropped import LastChunksDropped
from otel_raglog.lab.inject.misspelled_entity import MisspelledEntity
from otel_raglog.lab.inject.name_swapped import NameSwapped
from otel_raglog.lab.inject.near_duplicates import NearDuplicates
from otel_raglog.lab.inject.negation import Negation
from otel_raglog.lab.inject.number_swapped import NumberSwapped
from otel_raglog.lab.inject.one_of_several import OneOfSeveral
from otel_raglog.lab.inject.other_question import OtherQuestion
from otel_raglog.lab.inject.over_tight_filter import OverTightFilter
from otel_raglog.lab.inject.qualifier_dropped import QualifierDropped
from otel_raglog.lab.inject.unrelated_text import UnrelatedText
from otel_raglog.lab.inject.wrong_index import WrongIndex
from otel_raglog.lab.inject.wrong_language import WrongLanguage
from otel_raglog.lab.inject.wrong_refusal import WrongRefusal
from otel_raglog.lab.inject.year_added import YearAdded

FAULTS: tuple[Fault, ...] = (
    YearAdded(),
    QualifierDropped(),
    DateDropped(),
    EntityReplaced(),
    Negation(),
    HistoryMisread(),
    CutToHalf(),
    MisspelledEntity(),
    UnrelatedText(),
    EncodingGarbage(),
    EvidenceRemoved(),
    WrongIndex(),
    WrongLanguage(),
    OverTightFilter(),
    NearDuplicates(),
    EvidenceBelowCutoff(),
    OneOfSeveral(),
    LastChunksDropped(),
    ChunkCut(),
    BlankSlot(),
    EvidenceInMiddle(),
    ClaimFromOtherDocument(),
    NumberSwapped(),
    NameSwapped(),
    ItemOmitted(),
    WrongRefusal(),
    AnswerWithoutEvidence(),
    OtherQuestion(),
    CutOff(),
)


def faults_named(names: tuple[str, ...]) -> tuple[Fault, ...]:
    """Return the faults of these names, all without names.

    Raises:
        BadInput: there is no such fault; names those there are.
    """
    known = {fault.name: fault for fault in FAULTS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BadInput(f"no fault {unknown[0]!r}; there are {', '.join(known)}")
    return tuple(known[name] for name in names) if names else FAULTS
