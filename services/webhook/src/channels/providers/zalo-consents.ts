import type { ChannelConsents } from '../adapter.ts';
import { zaloAccountOf } from './zalo-account.ts';
import { ZaloOAuth } from './zalo-oauth.ts';

/** The consent of an administrator of a Zalo Official Account. */
export function zaloConsents({
  apiUrl,
  oauthUrl,
}: {
  apiUrl: string;
  oauthUrl: string;
}): ChannelConsents<'zalo_oa'> {
  const oauth = new ZaloOAuth(oauthUrl);
  return {
    slug: 'zalo-oa',
    provider: 'Zalo',
    origin: new URL(oauthUrl).origin,
    page: {
      title: 'Connect a Zalo Official Account',
      text: 'If you go on, agents of this tenant read and answer what people write to the account that you choose.',
      button: 'Continue to Zalo',
    },
    ends: {
      connected: [200, 'Connected', 'Messages to the account are answered now. You can close this page.'],
      refused: [400, 'Not connected', 'Zalo did not give access. Open the link again to go on.'],
      unavailable: [400, 'Not connected', 'Zalo could not be reached. Open the link again to go on.'],
      other_account: [
        400,
        'Not connected',
        'The consent is for another Official Account than the channel is for. Open the link again to go on.',
      ],
      contradiction: [
        400,
        'Not connected',
        'Zalo gave access to another Official Account than this browser named. Open the link again to go on.',
      ],
    },
    authorizationUrl: (channel, request) => oauth.authorizationUrl(channel, request),
    namedAccount: (query) => query['oa_id'],
    exchange: async (channel, answer, egresses) => {
      const tokens = await oauth.exchange(channel, answer, egresses);
      // The callback's `oa_id` is not signed.
      return { tokens, account: await zaloAccountOf(apiUrl, tokens.accessToken, egresses) };
    },
    refresh: (channel, refreshToken, egresses) => oauth.refresh(channel, refreshToken, egresses),
  };
}
