import { createHash } from 'node:crypto';
import { EgressError } from '@gatehouse/egress/errors';
import { z } from 'zod';
import type { ChannelConfig, ChannelCredentials } from '@gatehouse/contract/channel-instances';
import { ConsentRefused, ProviderUnavailable, type Tokens, type Egresses } from '../adapter.ts';
import { parseOrNull } from './provider-call.ts';

/** Zalo's OAuth v4 for Official Accounts: https://developers.zalo.me/docs/official-account/bat-dau/xac-thuc-va-uy-quyen-cho-ung-dung-new */

const timeoutMs = 15_000;
const limited = -32;

/** A text, or a number as a text. */
const tokens = z.object({
  access_token: z.string().min(1).max(4_096),
  refresh_token: z.string().min(1).max(4_096),
  expires_in: z.coerce.number().int().min(60),
});

interface App {
  config: Pick<ChannelConfig<'zalo_oa'>, 'app_id'>;
  credentials: Pick<ChannelCredentials<'zalo_oa'>, 'app_secret'>;
}

export class ZaloOAuth {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** The page that the browser opens to consent. */
  authorizationUrl(
    { config }: Pick<App, 'config'>,
    request: { redirectUri: string; state: string; verifier: string },
  ): string {
    const challenge = createHash('sha256').update(request.verifier).digest('base64url');
    const query = new URLSearchParams({
      app_id: config.app_id,
      redirect_uri: request.redirectUri,
      code_challenge: challenge,
      state: request.state,
    });
    return `${this.#url}/v4/oa/permission?${query.toString()}`;
  }

  /** The first tokens. Throws `ConsentRefused` and `ProviderUnavailable`. */
  exchange(
    app: App,
    { code, verifier }: { code: string; verifier: string },
    egresses: Egresses,
  ): Promise<Tokens> {
    return this.#ask(app, egresses, { code, grant_type: 'authorization_code', code_verifier: verifier });
  }

  /** New tokens for a refresh token, which is used up. Throws as {@link exchange}. */
  refresh(app: App, refreshToken: string, egresses: Egresses): Promise<Tokens> {
    return this.#ask(app, egresses, { refresh_token: refreshToken, grant_type: 'refresh_token' });
  }

  async #ask(
    { config, credentials }: App,
    egresses: Egresses,
    fields: Record<string, string>,
  ): Promise<Tokens> {
    const body = new URLSearchParams({ ...fields, app_id: config.app_id }).toString();
    const response = await egresses
      .provider({
        method: 'POST',
        url: new URL(`${this.#url}/v4/oa/access_token`),
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          secret_key: credentials.app_secret,
        },
        body: Buffer.from(body),
        timeoutMs,
      })
      .catch((error: unknown) => {
        if (error instanceof EgressError) throw new ProviderUnavailable(error.message, { cause: error });
        throw error;
      });
    const answer = parseOrNull(response.body);
    if (response.status >= 500 || response.status === 429 || answer === null)
      throw new ProviderUnavailable(`Zalo responds with ${response.status}.`);
    // Errors come as 200 with `error`.
    const { error } = z.object({ error: z.number().optional() }).safeParse(answer).data ?? {};
    const { data } = tokens.safeParse(answer);
    if (error === limited) throw new ProviderUnavailable('Zalo limits requests.');
    if (data === undefined) throw new ConsentRefused(`Zalo responds with ${error ?? response.status}.`);
    return {
      accessToken: data.access_token,
      refreshToken: data.refresh_token,
      expiresInS: data.expires_in,
    };
  }
}
