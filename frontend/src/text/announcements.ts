/** The words for announcements. */

import type { AnnouncementKind } from "../api/client";

export const announcementWord: Record<AnnouncementKind, string> = {
  provisional: "may have regressed",
  regressed: "regressed",
  improved: "improved",
  moved: "moved to other commits",
  grew: "grew",
  located: "commit found",
  bisected: "bisection ended",
  recovered: "recovered",
  fixed: "fixed",
  withdrawn: "withdrawn",
  returned: "is back",
};
