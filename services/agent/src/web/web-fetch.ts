import { argumentProblem, builtinTools, webFetchArguments } from '@gatehouse/contract/builtin-tools';
import { isRedirect, type Egress, type EgressResponse } from '@gatehouse/egress/egress';
import { EgressError } from '@gatehouse/egress/errors';
import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import type { CookieOwner } from '../cookies/cookie.ts';
import { FetchCookies, type OpenCookie } from '../cookies/fetch-cookies.ts';
import { mcpFailure, type McpFailureKind } from '../mcp/failure.ts';
import { isNamedHost } from './host-pattern.ts';
import { pageText } from './page-content.ts';
import type { PageTexts } from './page-texts.ts';
import { pageTypeOf } from './page-type.ts';
import { maxPageBytes, maxRedirects } from '../bounds.ts';

/** The agent and the user of a fetch. */
export interface FetchFor {
  tenantId: string;
  agentId: string;
  /** The user of the sent cookies; null to send no cookies. */
  user: string | null;
  /** Patterns of callable hosts; empty: every host. */
  hosts: readonly string[];
}

export interface WebFetchOptions {
  egress: Egress;
  pages: PageTexts;
  /** The cookies of an owner for some domains, as they are now. */
  cookies: (owner: CookieOwner, domains: readonly string[]) => Promise<readonly OpenCookie[]>;
}

export interface Fetched {
  content: string;
  outcome: 'ok' | 'error' | McpFailureKind;
}

/** Calls of a tenant in this process. */
const calls = { perKey: 16, maxWaiting: 1_000, tooMany: () => new EgressError('busy') };
const accept = 'text/html,application/xhtml+xml,application/json,text/plain;q=0.9,*/*;q=0.5';

/** The tool `web_fetch`: pages of the web as text, as shown to the user of the agent's cookies. */
export class WebFetch {
  readonly #options: WebFetchOptions;
  readonly #turns = new FairQueue(calls);

  constructor(options: WebFetchOptions) {
    this.#options = options;
  }

  /** Each failure is a result, for the model. Throws the reason of `signal`. */
  async call(caller: FetchFor, args: unknown, signal: AbortSignal): Promise<Fetched> {
    const parsed = webFetchArguments.safeParse(args);
    if (!parsed.success) return { content: argumentProblem(parsed.error), outcome: 'error' };
    const url = URL.parse(parsed.data.url);
    if (url === null || !isFetchable(url))
      return { content: 'Not called: url must be an address with https.', outcome: 'error' };
    if (!isNamedHost(caller.hosts, url.hostname)) return notAllowed;
    const limited = AbortSignal.any([signal, AbortSignal.timeout(builtinTools.web_fetch.timeoutMs)]);
    try {
      const fetched = async (): Promise<Fetched> => {
        const { response, at } = await this.#get(caller, url, limited);
        return this.#readPage(caller.tenantId, response, at);
      };
      return await this.#turns.run(caller.tenantId, fetched, limited);
    } catch (error) {
      signal.throwIfAborted();
      if (limited.aborted) return failed('timeout');
      if (error instanceof EgressError)
        return error.failure === 'not_allowed' ? notAllowed : failed(mcpFailure(error).kind);
      if (error instanceof AppError && error.code === 'service_unavailable') return failed('busy');
      throw error;
    }
  }

  /** Follows redirects with a browser's cookies for each page. */
  async #get(
    { tenantId, agentId, user, hosts }: FetchFor,
    first: URL,
    signal: AbortSignal,
  ): Promise<{ response: EgressResponse; at: URL }> {
    const { egress, cookies } = this.#options;
    const jar = new FetchCookies((domains) =>
      user === null ? Promise.resolve([]) : cookies({ tenantId, agentId, userId: user }, domains),
    );
    let at = first;
    for (let left = maxRedirects; ; left -= 1) {
      const cookie = await jar.headerFor(at);
      const headers = { accept, ...(cookie !== null && { cookie }) };
      const response = await egress.request({
        tenantId,
        method: 'GET',
        url: at,
        headers,
        signal,
        maxBytes: maxPageBytes,
      });
      await jar.take(at, response.setCookies);
      const { location } = response.headers;
      if (!isRedirect(response.status) || location === undefined) return { response, at };
      const next = URL.parse(location, at.href);
      if (next === null || !isFetchable(next) || left === 0) throw new EgressError('invalid_response');
      if (!isNamedHost(hosts, next.hostname)) throw new EgressError('not_allowed');
      // Browsers keep the fragment.
      if (next.hash === '') next.hash = at.hash;
      at = next;
    }
  }

  async #readPage(tenantId: string, { status, headers, body }: EgressResponse, at: URL): Promise<Fetched> {
    const outcome = status >= 200 && status < 300 ? 'ok' : 'error';
    const head = [`URL: ${at.href}`, ...(outcome === 'ok' ? [] : [`Status: ${status}`])];
    const pageType = pageTypeOf(headers['content-type'], body);
    if (pageType.kind === 'other') {
      const type = headers['content-type'] ?? 'of an unknown type';
      return { content: [...head, '', `[${type}, ${body.length} bytes, not a text]`].join('\n'), outcome };
    }
    const text = await pageText(tenantId, body, pageType);
    const page =
      pageType.kind === 'html'
        ? await this.#options.pages.read(tenantId, { html: text })
        : { title: '', text };
    if (page === null) return failed('invalid');
    const title = page.title === '' ? [] : [`Title: ${page.title}`];
    return { content: [...head, ...title, '', page.text].join('\n'), outcome };
  }
}

const sentences: Partial<Record<McpFailureKind, string>> = {
  timeout: 'The page did not arrive in time.',
  too_large: 'The page is too large.',
  busy: 'Too many pages are being fetched. Try again later.',
  unreachable: 'The page could not be reached.',
};

const notAllowed: Fetched = {
  content: 'The address is not allowed: it must be https on a public host that the agent may call.',
  outcome: 'unreachable',
};

function failed(outcome: McpFailureKind): Fetched {
  return { content: sentences[outcome] ?? 'The page could not be read.', outcome };
}

/** Longer names of hosts do not exist (RFC 1035, 2.3.4). */
const maxHostChars = 253;

function isFetchable({ protocol, hostname }: URL): boolean {
  return /^https?:$/.test(protocol) && hostname.length <= maxHostChars;
}
