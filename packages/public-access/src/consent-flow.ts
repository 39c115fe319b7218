import type { IncomingMessage, ServerResponse } from 'node:http';
import { tenantOf, type Call, type RawCall, type RawHandler } from '@gatehouse/http/app';
import { clientIpOf } from '@gatehouse/http/client-ip';
import { HostCookie } from '@gatehouse/kit/host-cookie';
import { queryObject } from '@gatehouse/kit/validate';
import { consentPage, endPage, type ConsentPage } from './consent-page.ts';
import { consentMinutes, type AskedBy, type ConsentTickets, type OpenTicket } from './consent-tickets.ts';
import { isOwnPage } from './same-origin.ts';
import { sendBrowserTo, sendPage } from './page.ts';
import type { Refusals } from './refusals.ts';
import { sameText } from './same-text.ts';

/** The provider's answer, brought back by the browser, and the client with it. */
export interface ProviderAnswer {
  code: string;
  verifier: string;
  query: Readonly<Record<string, string>>;
  circumstances: { clientIp: string | null; requestId: string };
}

/** Status, title and text of the page at the end of a consent. */
export type EndPage = readonly [status: number, title: string, text: string];

/** A kind of consent: its subject, and its provider. */
export interface ConsentKind<Subject extends { id: string }, End extends string> {
  /** The provider sends the browser here. */
  callbackPath: string;
  /** The provider as texts name it. */
  provider: string;
  /** Sources of a content security policy: where the button may lead. */
  formTarget: string;
  /** Finds the subject of a ticket; null if it is gone. */
  find(ticket: OpenTicket): Promise<Subject | null>;
  page(subject: Subject, ticket: OpenTicket): Pick<ConsentPage, 'title' | 'text' | 'facts' | 'button'>;
  /** The page of the provider where the user consents; null if the ticket's subject is gone. */
  authorizationUrl(
    ticket: OpenTicket,
    request: { redirectUri: string; state: string; verifier: string },
  ): Promise<string | null>;
  finish(ticket: OpenTicket, answer: ProviderAnswer): Promise<End | 'over'>;
  ends: Readonly<Record<End, EndPage>>;
}

export interface ConsentFlowOptions<Subject extends { id: string }, End extends string> {
  kind: ConsentKind<Subject, End>;
  tickets: ConsentTickets;
  refusals: Refusals;
  publicUrl: string;
}

/** Serves the consent page, its button, and where the browser comes back. */
export class ConsentFlow<Subject extends { id: string }, End extends string> {
  readonly #options: ConsentFlowOptions<Subject, End>;
  readonly #cookie: HostCookie;

  constructor(options: ConsentFlowOptions<Subject, End>) {
    this.#options = options;
    this.#cookie = new HostCookie('gatehouse-consent', options.publicUrl);
  }

  /** The page with the button: uses nothing up. */
  readonly page: RawHandler = async (request, response, call) => {
    const { kind } = this.#options;
    const open = await this.#openTicket(request, call);
    if (open === null) {
      this.#sendOver(response, call);
      return;
    }
    const { ticket, subject } = open;
    const content = kind.page(subject, ticket);
    const facts = [...content.facts, ['Asked by', askerOf(ticket.askedBy)] as const];
    const html = consentPage({ ...content, facts });
    sendPage(response, call.requestId, { status: 200, html, formTargets: kind.formTarget });
  };

  /** The button: leads to the provider. */
  readonly begin: RawHandler = async (request, response, call) => {
    const { kind } = this.#options;
    const open = isOwnPage(request, this.#options.publicUrl) ? await this.#openTicket(request, call) : null;
    const begun = open === null ? null : await this.#beginning(open.ticket);
    if (begun === null) {
      this.#sendOver(response, call);
      return;
    }
    const { location, state } = begun;
    sendBrowserTo(response, call.requestId, {
      ...{ location, formTargets: kind.formTarget },
      cookies: [this.#cookie.set(state, consentMinutes * 60)],
    });
  };

  /** The provider sends the browser here. */
  readonly callback: RawHandler = async (request, response, call) => {
    const { kind, tickets, refusals } = this.#options;
    const query = queryOf(request);
    const { code, state = '' } = query;
    // A state in other hands is of no use without the cookie of the first browser.
    const isOwn = state !== '' && sameText(this.#cookie.valuesIn(request.headers.cookie)[0] ?? '', state);
    const ticket = isOwn ? await tickets.findOfState(state) : null;
    if (ticket === null) {
      await refusals.count('consent_state', clientIpOf(request));
      this.#sendOver(response, call);
      return;
    }
    const verifier = await tickets.finish(ticket, state);
    if (verifier === null) {
      this.#sendOver(response, call);
      return;
    }
    if (code === undefined) {
      const text = `${kind.provider} did not confirm the consent. Open the link again to go on.`;
      sendEnd(response, call, [400, 'Not connected', text]);
      return;
    }
    const circumstances = { clientIp: clientIpOf(request), requestId: call.requestId };
    const end = await kind.finish(ticket, { code, verifier, query, circumstances });
    if (end === 'over') this.#sendOver(response, call);
    else sendEnd(response, call, kind.ends[end]);
  };

  /**
   * The page for the browser, and the state for its cookie; null if the ticket was used too often or has no subject.
   */
  async #beginning(ticket: OpenTicket): Promise<{ location: string; state: string } | null> {
    const { kind, tickets, publicUrl } = this.#options;
    const begun = await tickets.begin(ticket);
    if (begun === null) return null;
    const redirectUri = publicUrl + kind.callbackPath;
    const location = await kind.authorizationUrl(ticket, { redirectUri, ...begun });
    return location === null ? null : { location, state: begun.state };
  }

  async #openTicket(
    request: IncomingMessage,
    { params }: RawCall,
  ): Promise<{ ticket: OpenTicket; subject: Subject } | null> {
    const { kind, tickets, refusals } = this.#options;
    const ticket = await tickets.find(queryOf(request)['ticket'] ?? '');
    const subject = ticket === null ? null : await kind.find(ticket);
    if (ticket !== null && subject !== null && subject.id === params['id']) return { ticket, subject };
    await refusals.count('ticket', clientIpOf(request));
    return null;
  }

  #sendOver(response: ServerResponse, call: RawCall): void {
    const text = `It was used, or is older than ${consentMinutes} minutes. Ask for a new one.`;
    sendEnd(response, call, [410, 'This link is no longer valid', text]);
  }
}

/** The key and the user behind a request for a consent. */
export function requesterOf(call: Pick<Call, 'principal'>): AskedBy {
  const { tenantSlug, keyId, userId, role } = tenantOf(call);
  return { tenant: tenantSlug, key_id: keyId, user_id: userId, role };
}

function askerOf({ user_id: userId, key_id: keyId }: AskedBy): string {
  return [userId, keyId === null ? null : `key ${keyId}`].filter((part) => part !== null).join(', ');
}

function sendEnd(response: ServerResponse, call: RawCall, [status, title, text]: EndPage): void {
  sendPage(response, call.requestId, { status, html: endPage(title, text) });
}

const queryOf = (request: IncomingMessage): Record<string, string> =>
  queryObject((request.url ?? '').split('?')[1] ?? '');
