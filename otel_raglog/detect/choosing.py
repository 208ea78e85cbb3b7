"""The name of a detector, a folder, or an LLM's name to the detector."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from otel_raglog.detect.artifact import MANIFEST, Artifact, load_artifact, read_manifest
from otel_raglog.detect.detector import Detector
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.escalation import Bands
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.detect.tiers import LlmDetector
from otel_raglog.errors import ConfigError
from otel_raglog.model import Stage

BUNDLED = Path(__file__).parent / "artifacts"
"""Where the trained detectors lie that come with the package, each in a folder of its name."""

UNTRAINED = "untrained"
"""The name of the fixed combination of a local probability and an LLM's confidences."""


def build_detector(
    name: str, policy: Policy, thresholds: Mapping[Stage, float], bundled: Path = BUNDLED
) -> Detector:
    """Return ``rules-1``, the bundled detector of that name, or the one in that folder.

    Raises:
        ConfigError: there is none of that name; or see :func:`load_artifact`.
    """
    if name == Rules1.version:
        if thresholds:
            raise ConfigError("analysis.thresholds: rules-1 has one threshold of its own")
        return Rules1()
    artifact = load_artifact(folder_of(name, bundled))
    if artifact.manifest.trained_on.judge is not None:
        raise ConfigError(
            f"analysis.detector: {name!r} reads an LLM's answers; it goes with judge.detector"
        )
    return Ensemble(artifact, policy, thresholds)


def build_llm_detector(
    local: Detector,
    *,
    model: str,
    name: str | None = None,
    policy: Policy = Policy.MONITORING,
    bands: Bands | None = None,
    bundled: Path = BUNDLED,
) -> LlmDetector:
    """Return the detector that reads the answers of the LLM ``model`` beside ``local``.

    ``name`` is that of a bundled detector, a folder, or ``untrained`` for the fixed combination.
    Without it the bundled detector is taken whose manifest names the model (the pattern with most
    letters, where several do), else the fixed combination.

    Raises:
        ConfigError: there is no such detector, or it was trained without an LLM's answers.
    """
    if name == UNTRAINED:
        return LlmDetector(local, bands=bands)
    artifact = _bundled_for(model, bundled) if name is None else _named(name, bundled)
    trained = None if artifact is None else Ensemble(artifact, policy)
    return LlmDetector(local, trained, bands)


def _named(name: str, bundled: Path) -> Artifact:
    known = names_of_bundled(bundled, judged=True)
    folder = bundled / name if name in known else Path(name).expanduser()
    if not folder.is_dir():
        raise ConfigError(
            f"judge.detector: {name!r} is neither a folder nor a detector that comes with this "
            f"version: {', '.join((UNTRAINED, *known))}"
        )
    artifact = load_artifact(folder)
    if artifact.manifest.trained_on.judge is None:
        raise ConfigError(
            f"judge.detector: {name!r} was trained without an LLM's answers; it goes with "
            "analysis.detector"
        )
    return artifact


def _bundled_for(model: str, bundled: Path) -> Artifact | None:
    fitting = [
        (len(pattern), name)
        for name in names_of_bundled(bundled, judged=True)
        if (judge := read_manifest(bundled / name).trained_on.judge) is not None
        for pattern in judge.models
        if fnmatchcase(model.casefold(), pattern.casefold())
    ]
    return load_artifact(bundled / max(fitting)[1]) if fitting else None


def names_of_bundled(bundled: Path = BUNDLED, *, judged: bool = False) -> tuple[str, ...]:
    """Return the names of the trained detectors that come with the package.

    With ``judged``, of those that read an LLM's answers; else of the others.
    """
    return tuple(
        sorted(
            path.parent.name
            for path in bundled.glob(f"*/{MANIFEST}")
            if (read_manifest(path.parent).trained_on.judge is not None) is judged
        )
    )


def folder_of(name: str, bundled: Path = BUNDLED) -> Path:
    """Return the folder of the bundled trained detector of that name, or the folder itself.

    Raises:
        ConfigError: it is neither.
    """
    known = names_of_bundled(bundled)
    if name in known:
        return bundled / name
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    raise ConfigError(
        f"analysis.detector: {name!r} is neither a folder nor a detector that comes with this "
        f"version: {', '.join((Rules1.version, *known))}"
    )
