"""What the commands say of captured calls: options, and who tells what a call is."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from otel_raglog.bridging import BridgeAsker, build_asker
from otel_raglog.config import JUDGE_KEY_VARIABLE, MAPPINGS_VARIABLE, read_mappings_folder
from otel_raglog.errors import BadInput, ConfigError
from otel_raglog.options import Judge
from otel_raglog.redaction.redaction import Redaction
from otel_raglog_proxy_bridge.asking import Asker
from otel_raglog_proxy_bridge.classifying import Classifier
from otel_raglog_proxy_bridge.mapping_store import MappingStore, files_in
from otel_raglog_proxy_bridge.mappings import MappingError
from otel_raglog_proxy_bridge.telling import tellers

DEFAULT_FOLDER = Path("~/.local/share/otel-raglog/mappings")

_MOST_NAMES = 10


def _checked_name(name: str | None) -> str | None:
    if name is not None and not name.strip():
        raise typer.BadParameter("a pipeline's name is not empty")
    try:
        (name or "").encode()
    except UnicodeEncodeError:
        raise typer.BadParameter("a pipeline's name is UTF-8 text") from None
    return name


MappingsFolder = Annotated[
    Path | None,
    typer.Option(
        "--mappings",
        help="Folder of stored mappings of unknown APIs; default: ~/.local/share/otel-raglog/mappings.",
        envvar=MAPPINGS_VARIABLE,
        file_okay=False,
    ),
]
Pipeline = Annotated[
    str | None,
    typer.Option(
        "--pipeline",
        help="Whose stored mappings read captured calls: the --service of bridge run; needed where the folder "
        "has those of several.",
        callback=_checked_name,
    ),
]
PipelineName = Annotated[
    str | None,
    typer.Option(
        "--pipeline",
        help="Whose mappings; needed where the folder has several.",
        callback=_checked_name,
    ),
]


class StoredMappings:
    """Who tells what captured calls are: stored mappings first, as in the live bridge.

    Whose mappings: those of ``pipeline``; without one, those of the only pipeline that has some in
    ``folder``. Nothing is looked at before :meth:`classifier` is called, and nothing is written
    unless ``keeps``. ``notes`` say whose mappings are used, ``problems`` why they are not.
    """

    def __init__(
        self,
        folder: Path | None = None,
        pipeline: str | None = None,
        asker: Asker | None = None,
        *,
        keeps: bool = False,
    ) -> None:
        self.notes: list[str] = []
        self.problems: list[str] = []
        self._folder = home_expanded(folder or read_mappings_folder() or DEFAULT_FOLDER)
        self._is_asked_for = folder is not None or pipeline is not None
        self._pipeline = pipeline
        self._asker = asker
        self._keeps = keeps
        self._before: set[tuple[str, int]] = set()
        self._store: MappingStore | None = None
        self._classifier: Classifier | None = None

    def classifier(self) -> Classifier:
        """Return the classifier, always the same.

        Raises:
            BadInput: mappings are to be kept, and nothing tells whose, or they are damaged.
        """
        if self._classifier is None:
            pipeline = self._chosen()
            self._classifier = Classifier(
                tellers(
                    self._folder if pipeline is not None else None,
                    pipeline,
                    self._asker,
                    keeps=self._keeps,
                    warn=lambda sentence: self.problems.append(f"--mappings: {sentence}"),
                )
            )
        return self._classifier

    def kept(self) -> str:
        """Return a sentence on what was stored since the classifier was made."""
        if self._store is None:
            return "--store: there was no captured call"
        try:
            count = len(_versions(self._store) - self._before)
        except MappingError as problem:
            raise BadInput(f"--mappings: {problem}") from None
        mappings = "mapping was" if count == 1 else "mappings were"
        return f"--store: {count} {mappings} stored in {self._store.path}"

    def _chosen(self) -> str | None:
        """Return whose mappings are used; ``None`` where there are none that can be."""
        try:
            pipeline = self._pipeline or self._only()
            if pipeline is None:
                if self._keeps:
                    raise BadInput("--store: --pipeline says whose mappings these are")
                return None
            self._store = MappingStore(self._folder, pipeline)
            count = len(self._store.load())
            self._before = _versions(self._store) if self._keeps else set()
        except MappingError as problem:
            if self._keeps:
                raise BadInput(f"--mappings: {problem}; nothing was stored") from None
            self.problems.append(f"--mappings: {problem}; no stored mapping was used")
            return None
        if count:
            mappings = "mapping" if count == 1 else "mappings"
            self.notes.append(
                f"{count} {mappings} of {pipeline!r} in {self._folder} read the calls"
            )
        elif not self._keeps:
            self.notes.append(f"{unknown_pipeline(self._folder, pipeline)}; none was used")
        return pipeline

    def _only(self) -> str | None:
        found = files_in(self._folder)
        if len(found) == 1:
            if found[0].problem is not None:
                raise MappingError(found[0].problem)
            return found[0].pipeline
        if found:
            names = _listed([each.pipeline for each in found])
            self.notes.append(
                f"--pipeline: {self._folder} has mappings of several pipelines, and none was used: "
                f"say whose; there are {names}"
            )
        elif self._is_asked_for:
            self.notes.append(f"{_empty(self._folder)}; none was used")
        return None


def home_expanded(folder: Path) -> Path:
    """Return the folder of ``--mappings`` with the home of a person in place of a tilde.

    Raises:
        BadInput: there is no such person.
    """
    try:
        return folder.expanduser()
    except RuntimeError:
        raise BadInput(f"--mappings: {folder}: nobody has this home folder") from None


def unknown_pipeline(folder: Path, pipeline: str) -> str:
    """Return a sentence on a pipeline without mappings: the nearest that has some, and all.

    Raises:
        MappingError: the folder cannot be read.
    """
    names = [each.pipeline for each in files_in(folder)]
    if not names:
        return f"--pipeline: {pipeline!r} has no mappings: {_empty(folder).removeprefix('--mappings: ')}"
    near = difflib.get_close_matches(pipeline, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near and near[0] != pipeline else ""
    return f"--pipeline: {pipeline!r} has no mappings in {folder}: {hint}there are {_listed(names)}"


def asker_of(options: Judge, redaction: Redaction | None = None) -> BridgeAsker:
    """Return what asks the LLM of ``judge``, for ``--llm``; it is shown nothing redacted.

    Raises:
        ConfigError: none is configured, or it cannot be asked.
    """
    asker = build_asker(options, redaction)
    if asker is None and options.when == "never":
        raise ConfigError("--llm: judge.when is never, so no LLM is asked")
    if asker is None:
        raise ConfigError(
            f"--llm: no LLM is configured: give its key in {JUDGE_KEY_VARIABLE}, judge.key_file or "
            "judge.key_from, or the address of one without a key in judge.endpoint"
        )
    return asker


def _versions(store: MappingStore) -> set[tuple[str, int]]:
    return {(entry.name, entry.current.number) for entry in store.load()}


def _empty(folder: Path) -> str:
    if folder.is_dir():
        return f"--mappings: no mappings in {folder}"
    return f"--mappings: {folder} is not there"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(map(repr, names[:_MOST_NAMES])) + more
