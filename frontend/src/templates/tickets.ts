/** The tickets of plotted traces: in a tooltip, and as a list with links below the plot. */

import { html, nothing, type TemplateResult } from "lit";
import type { TicketMark } from "../api/client";
import { grouped } from "../text/numbers";
import { ticketStateText } from "../text/tickets";

/** The name of a ticket, which leads to it where its address is one of the web. */
function nameLink({ name, url }: TicketMark): TemplateResult {
  if (!/^https?:\/\//.test(url)) return html`${name}`;
  return html`<a href=${url} target="_blank" rel="noreferrer">${name}</a>`;
}

/** The tickets at a commit, for the tooltip of a plot. */
export function ticketTips(tickets: readonly TicketMark[], position: number): TemplateResult[] {
  return tickets
    .filter((ticket) => ticket.position === position)
    .map(
      (ticket) =>
        html`<div class="tip-note">
          <i class="key-ticket ${ticket.open ? "" : "closed"}"></i> ${ticket.name} ${ticket.title}
          <span class="faint">${ticketStateText(ticket)}</span>
        </div>`,
    );
}

/** A list of tickets with links; nothing without one. `pick` shows the commit of a ticket. */
export function ticketList(
  tickets: readonly TicketMark[],
  pick: (position: number) => void,
): TemplateResult | typeof nothing {
  if (tickets.length === 0) return nothing;
  return html`<ul class="ticket-list" aria-label="Tickets">
    ${tickets.map(
      (ticket) =>
        html`<li>
          <span><i class="key-ticket ${ticket.open ? "" : "closed"}"></i> ${nameLink(ticket)} ${ticket.title}</span>
          <span class="faint">${ticketStateText(ticket)}</span>
          <button class="link" @click=${() => pick(ticket.position)}>commit ${grouped(ticket.position + 1)}</button>
        </li>`,
    )}
  </ul>`;
}
