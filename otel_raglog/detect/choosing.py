"""The name of a detector, or a folder, to the detector."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from otel_raglog.detect.artifact import MANIFEST, load_artifact
from otel_raglog.detect.detector import Detector
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.errors import ConfigError
from otel_raglog.model import Stage

BUNDLED = Path(__file__).parent / "artifacts"
"""Where the trained detectors lie that come with the package, each in a folder of its name."""


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
    return Ensemble(load_artifact(folder_of(name, bundled)), policy, thresholds)


def names_of_bundled(bundled: Path = BUNDLED) -> tuple[str, ...]:
    """Return the names of the trained detectors that come with the package."""
    return tuple(sorted(path.parent.name for path in bundled.glob(f"*/{MANIFEST}")))


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
