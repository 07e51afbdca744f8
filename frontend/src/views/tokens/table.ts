/** The table of the tokens: those that are valid first. */

import { html, nothing } from "lit";
import type { Token } from "../../api/client";
import { tokenOrder } from "../../state/tokens";
import { timestamp } from "../../templates/commit";
import { PERMISSIONS } from "../../text/callers";
import { ageText } from "../../text/dates";

export function renderTokens(tokens: readonly Token[], revoke: (token: Token) => void) {
  return html`<table class="records">
    <caption class="sr-only">
      Tokens, the valid ones first
    </caption>
    <thead>
      <tr>
        <th scope="col">Token</th>
        <th scope="col">May</th>
        <th scope="col">Repositories</th>
        <th scope="col">Expires</th>
        <th scope="col">Last used</th>
        <th scope="col">Created</th>
        <th scope="col"><span class="sr-only">Revoke</span></th>
      </tr>
    </thead>
    <tbody>
      ${tokenOrder(tokens).map((token) => renderToken(token, revoke))}
    </tbody>
  </table>`;
}

function renderToken(token: Token, revoke: (token: Token) => void) {
  const { name, state, repositories, created, created_by: by } = token;
  return html`<tr class=${state}>
    <th scope="row"><bdi>${name}</bdi>${state === "valid" ? nothing : html` <span class="tag">${state}</span>`}</th>
    <td class="scopes" data-label="May">${PERMISSIONS.filter((scope) => token.scopes.includes(scope)).join(", ")}</td>
    <td data-label="Repositories">
      ${
        repositories.length === 0
          ? "all"
          : repositories.map((repository) => html`<span class="item"><bdi>${repository}</bdi></span>`)
      }
    </td>
    <td data-label="Expires">${renderEnd(token)}</td>
    <td data-label="Last used">
      ${token.last_used === null ? html`<span class="faint">never</span>` : renderAge(token.last_used)}
    </td>
    <td data-label="Created">
      ${timestamp(created)}
      <div class="second">
        <span>by <bdi>${by}</bdi></span>
      </div>
    </td>
    <td class="act">
      ${
        state === "revoked"
          ? nothing
          : html`<button class="button small" aria-label="Revoke ${name}" @click=${() => revoke(token)}>Revoke</button>`
      }
    </td>
  </tr>`;
}

function renderEnd({ expires, revoked }: Token) {
  if (revoked !== null) return html`revoked ${timestamp(revoked)}`;
  return expires === null ? html`<span class="faint">never</span>` : timestamp(expires);
}

function renderAge(time: string) {
  return html`${timestamp(time)}
    <div class="second">${ageText(time)}</div>`;
}
