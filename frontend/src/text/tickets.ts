/** Tickets in words. */

import type { TicketMark } from "../api/client";

const VERDICTS: Record<TicketMark["verdict"], string> = {
  "": "",
  fixed: "fixed in the data",
  "not-fixed": "not fixed in the data",
  "not-measured": "fix not measured yet",
};

/** "closed, not fixed in the data, ada". */
export function ticketStateText({ open, verdict, assignee }: TicketMark): string {
  return [open ? "open" : "closed", VERDICTS[verdict], assignee].filter((text) => text !== "").join(", ");
}
