import { createHash } from 'node:crypto';
import type { EgressRequest, EgressResponse } from '@gatehouse/egress/egress';
import { EgressError } from '@gatehouse/egress/errors';
import { z } from 'zod';
import { parseExact } from '../../../shared/exact-numbers.ts';
import type { Egresses, OpenChannel } from '../../adapter.ts';
import { attemptMs } from '../../../bounds.ts';
import { providerUrl } from '../provider-call.ts';

/** Zalo's OAuth v4 for Official Accounts: https://developers.zalo.me/docs/official-account/bat-dau/xac-thuc-va-uy-quyen-cho-ung-dung-new */

export const zaloSettings = {
  ZALO_API_URL: providerUrl('https://openapi.zalo.me'),
  ZALO_OAUTH_URL: providerUrl('https://oauth.zaloapp.com'),
};
export type ZaloUrls = Record<keyof typeof zaloSettings, string>;

/** Zalo's tokens with an expiry. */
export interface Tokens {
  accessToken: string;
  refreshToken: string;
  expiresInS: number;
}

/** Zalo gives no tokens: another attempt would get the same. */
export class ConsentRefused extends Error {}

/** Zalo could not be asked; nothing is known to be used up. */
export class ProviderUnavailable extends Error {}

/** Zalo's code of too many requests. */
export const limited = -32;

/** A text, or a number as a text. Errors come as 200 with `error`. */
const tokens = z.object({
  access_token: z.string().min(1).max(4_096),
  refresh_token: z.string().min(1).max(4_096),
  expires_in: z.coerce.number().int().min(60),
});
const failure = z.object({ error: z.number().optional() });

/** `oa_id` is a text, or a number of up to 19 digits. */
const account = z.object({
  error: z.literal(0),
  data: z.object({ oa_id: z.coerce.string().regex(/^\d{1,32}$/) }),
});

type App = Pick<OpenChannel<'zalo_oa'>, 'config' | 'credentials'>;

/** Consents of administrators of Official Accounts. Throws `ConsentRefused` and `ProviderUnavailable`. */
export class ZaloOAuth {
  readonly #urls: ZaloUrls;
  readonly #send: Egresses['provider'];

  constructor(urls: ZaloUrls, send: Egresses['provider']) {
    this.#urls = urls;
    this.#send = send;
  }

  /** The origin of the consent pages. */
  get origin(): string {
    return new URL(this.#urls.ZALO_OAUTH_URL).origin;
  }

  /** The browser's page for the consent. */
  authorizationUrl(
    { config }: Pick<App, 'config'>,
    { redirectUri, state, verifier }: { redirectUri: string; state: string; verifier: string },
  ): string {
    const query = new URLSearchParams({
      app_id: config.app_id,
      redirect_uri: redirectUri,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      state,
    });
    return `${this.#urls.ZALO_OAUTH_URL}/v4/oa/permission?${query.toString()}`;
  }

  /** The first tokens, and their account, as Zalo says: the callback's `oa_id` is not signed. */
  async exchange(
    app: App,
    { code, verifier }: { code: string; verifier: string },
  ): Promise<{ tokens: Tokens; account: string }> {
    const fields = { code, grant_type: 'authorization_code', code_verifier: verifier };
    const granted = await this.#tokens(app, fields);
    return { tokens: granted, account: await this.#accountOf(granted.accessToken) };
  }

  /** New tokens for a refresh token, which is used up. */
  refresh(app: App, refreshToken: string): Promise<Tokens> {
    return this.#tokens(app, { refresh_token: refreshToken, grant_type: 'refresh_token' });
  }

  async #tokens({ config, credentials }: App, fields: Record<string, string>): Promise<Tokens> {
    const { answer, status } = await this.#ask({
      method: 'POST',
      url: new URL(`${this.#urls.ZALO_OAUTH_URL}/v4/oa/access_token`),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        secret_key: credentials.app_secret,
      },
      body: Buffer.from(new URLSearchParams({ ...fields, app_id: config.app_id }).toString()),
    });
    const { data } = tokens.safeParse(answer);
    if (data === undefined) throw new ConsentRefused(`Zalo responds with ${errorOf(answer) ?? status}.`);
    return {
      accessToken: data.access_token,
      refreshToken: data.refresh_token,
      expiresInS: data.expires_in,
    };
  }

  /** `GET /v2.0/oa/getoa` of the Open API. */
  async #accountOf(accessToken: string): Promise<string> {
    const { answer, status } = await this.#ask({
      method: 'GET',
      url: new URL(`${this.#urls.ZALO_API_URL}/v2.0/oa/getoa`),
      headers: { access_token: accessToken },
    });
    const { data } = account.safeParse(answer);
    const error = errorOf(answer);
    if (data === undefined && error === undefined)
      throw new ProviderUnavailable(`Zalo responds with ${status} to a question for the account.`);
    if (data === undefined)
      throw new ConsentRefused(`Zalo responds with ${error} to a question for the account.`);
    return data.data.oa_id;
  }

  async #ask(request: Omit<EgressRequest, 'tenantId'>): Promise<{ answer: unknown; status: number }> {
    const { status, body }: EgressResponse = await this.#send({ ...request, timeoutMs: attemptMs }).catch(
      (error: unknown) => {
        if (error instanceof EgressError) throw new ProviderUnavailable(error.message, { cause: error });
        throw error;
      },
    );
    const answer = parseExact(body.toString());
    if (status >= 500 || status === 429 || answer === null)
      throw new ProviderUnavailable(`Zalo responds with ${status}.`);
    if (errorOf(answer) === limited) throw new ProviderUnavailable('Zalo limits requests.');
    return { answer, status };
  }
}

function errorOf(answer: unknown): number | undefined {
  return failure.safeParse(answer).data?.error;
}
