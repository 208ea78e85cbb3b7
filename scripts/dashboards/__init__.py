"""What the Grafana dashboards show; scripts/write_dashboards.py makes Grafana's JSON of it."""

from dashboards.cost import COST
from dashboards.health import HEALTH
from dashboards.overview import OVERVIEW
from dashboards.stage import STAGE

DASHBOARDS = (OVERVIEW, STAGE, HEALTH, COST)
