/** The objects of the API, and the error that it answers with. */

import type { components } from "./schema";

export type Schemas = components["schemas"];
export type Alert = Schemas["AlertAnswer"];
export type AlertSettings = Partial<Schemas["AlertRequest"]>;
export type AlertPreview = Schemas["PreviewAnswer"];
export type AlertEffect = Schemas["AlertEffectAnswer"];
export type NewAlert = AlertSettings & { name: string; keep_default?: boolean };
export type ChangePage = Schemas["ChangePageAnswer"];
export type ProfileCause = Schemas["CauseAnswer"];
export type FlameGraphData = Schemas["FlameGraphAnswer"];
export type AlertRecord = Schemas["AlertRecordAnswer"];
export type AlertQuality = Schemas["AlertQualityAnswer"];
export type AuditEntry = Schemas["AuditEntryAnswer"];
export type AuditKind = Schemas["AuditKind"];
export type Bisection = Schemas["BisectionAnswer"];
export type BisectionDetail = Schemas["BisectionDetailAnswer"];
export type Probe = Schemas["ProbeAnswer"];
export type Caller = Schemas["MeAnswer"];
export type Better = Schemas["Better"];
export type Clustering = Schemas["ClusteringAnswer"];
export type Comparison = Schemas["ComparisonAnswer"];
export type JudgedBenchmark = Schemas["JudgedBenchmarkAnswer"];
export type ChangePoints = Schemas["ChangePointsAnswer"];
export type Commit = Schemas["CommitAnswer"];
export type CommitReport = Schemas["CommitReportAnswer"];
export type Commits = Schemas["CommitsAnswer"];
export type Decision = Schemas["DecisionAnswer"];
export type Direction = Schemas["Direction"];
export type Environment = Schemas["EnvironmentAnswer"];
export type Explanation = Schemas["ExplanationAnswer"];
export type Patterns = Schemas["PatternsAnswer"];
export type Facets = Schemas["FacetsAnswer"];
export type Formula = Schemas["FormulaAnswer"];
export type AnnouncementKind = Schemas["AnnouncementKind"];
export type Overview = Schemas["OverviewAnswer"];
export type Settings = Schemas["SettingsAnswer"];
export type SharedView = Schemas["SharedViewAnswer"];
export type Trend = Schemas["TrendAnswer"];
export type Trends = Schemas["TrendsAnswer"];
export type Release = Schemas["ReleaseAnswer"];
export type Change = Schemas["ChangeAnswer"];
export type ChangeDirection = Schemas["ChangeDirection"];
/** What a change is, decided by the server; pages say this, and derive nothing of it. */
export type Statement = Schemas["StatementAnswer"];
export type Missing = Schemas["MissingAnswer"];
export type MissingEntry = Schemas["MissingEntryAnswer"];
export type Rename = Schemas["RenameAnswer"];
export type Health = Schemas["HealthAnswer"];
export type MissedChange = Schemas["MissedAnswer"];
export type MissedRequest = Schemas["MissedRequest"];
export type ProposalDecision = Schemas["ProposalDecisionAnswer"];
export type ProposalRequest = Schemas["ProposalRequest"];
export type ListFilter = Schemas["ListFilter"];
export type Finding = Schemas["ChangePointAnswer"];
export type FindingPage = Schemas["MembersAnswer"];
export type Entries = Schemas["Entries"];
export type ChangeList = Schemas["ChangesAnswer"];
export type Repository = Schemas["RepositoryAnswer"];
export type Run = Schemas["RunAnswer"];
export type Shortcut = Schemas["ShortcutAnswer"];
export type Status = Schemas["Status"];
export type InstanceStatus = Schemas["StatusAnswer"];
export type RetryRequest = Partial<Schemas["RetryRequest"]>;
export type Suspects = Schemas["SuspectsAnswer"];
export type Breakdown = Schemas["BreakdownAnswer"];
export type Mark = Schemas["MarkAnswer"];
export type TicketMark = Schemas["TicketMarkAnswer"];
export type Tracker = Schemas["TrackerAnswer"];
export type Trace = Schemas["TraceAnswer"];
export type Traces = Schemas["TracesAnswer"];
export type Triage = Schemas["TriageAnswer"];
export type Notice = Schemas["NoticeAnswer"];
export type NewToken = Schemas["NewTokenAnswer"];
export type Permission = Schemas["Permission"];
export type Token = Schemas["TokenAnswer"];
export type TokenRequest = Schemas["TokenRequest"];
export type NeverMeasured = Schemas["NeverMeasuredAnswer"];
export type Schedule = Schemas["ScheduleAnswer"];
export type RemeasuredValue = Schemas["RemeasuredAnswer"];
export type BisectionStanding = Schemas["BisectionStandingAnswer"];
export type QuarantinedValue = Schemas["QuarantinedValueAnswer"];
export type WithoutValue = Schemas["WithoutValueAnswer"];
export type Version = Schemas["VersionAnswer"];

/** An error that a person can act on: what went wrong, where, and what to do about it. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly where = "",
    readonly remedy = "",
    /** The HTTP status; 0 where the server did not answer. */
    readonly code = 0,
  ) {
    super(message);
  }
}

/** The code of an error of published pages: only a server has the answer. */
export const NEEDS_SERVER = 501;
