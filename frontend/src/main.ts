import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/components.css";
import "./styles/access.css";
import "./styles/records.css";
import "./styles/quality.css";
import "./styles/chart.css";
import "./styles/triage.css";
import "./styles/trace.css";
import "./styles/bisection.css";
import "./styles/explore.css";
import "./styles/overview.css";
import "./styles/status.css";
import "./styles/settings.css";
import "./styles/compare.css";
import "./styles/print.css";
import "uplot/dist/uPlot.min.css";

import { applyTimeZone } from "./state/appearance";
import { applyTheme } from "./state/theme";
import "./views/app";

applyTheme();
applyTimeZone();
