import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/components.css";
import "./styles/chart.css";
import "./styles/triage.css";
import "./styles/trace.css";
import "./styles/explore.css";
import "uplot/dist/uPlot.min.css";

import { applyTheme } from "./state/theme";
import "./components/decision-dialog";
import "./components/keyboard-help";
import "./components/toast";
import "./views/explore/view";
import "./views/trace/view";
import "./views/triage/view";
import "./views/app";

applyTheme();
