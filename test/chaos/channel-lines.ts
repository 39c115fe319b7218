import { signed } from '@gatehouse/test/webhook-senders';
import {
  ProviderServer,
  startSlack,
  startTelegram,
  ZaloAccount,
  zaloHeaders,
  type ProviderAnswer,
} from '@gatehouse/test/channel-providers';

/** A channel as the gateway shows it when it is created. */
export interface MadeChannel {
  id: string;
  secret: string;
}

/** One message of a person: their number, and which of their messages it is. */
export interface Said {
  person: number;
  place: number;
  text: string;
}

/** A reply that the provider has taken. */
export interface Heard {
  person: number;
  /** The id by which the provider would know a repeat; null where it knows none. */
  id: string | null;
  text: string;
}

/** One type of channel with its provider, as people use it. */
export interface ChannelLine {
  type: string;
  /** The body that creates the channel. */
  fields: object;
  provider: ProviderServer;
  /** The provider's answer now and then, without taking the reply. */
  trouble: ProviderAnswer;
  /** Whether the provider says in which order messages were written. */
  ordered: boolean;
  /** The request by which the provider passes a message on; `repeat` counts its repeats. */
  request: (
    channel: MadeChannel,
    said: Said,
    repeat: number,
  ) => { headers: Record<string, string>; body: string };
  heard: () => Heard[];
}

const firstMs = Date.now();
/** A number that grows with every message of a person. */
const positionOf = ({ person, place }: Said): number => person * 1_000 + place + 1;
const personIn = (id: unknown): number => Number(/\d+$/.exec(String(id))?.[0]);

async function genericLine(): Promise<ChannelLine> {
  const provider = await ProviderServer.start(() => ({ status: 200, body: {} }));
  return {
    type: 'generic',
    fields: { config: { callback_url: `${provider.url}/message` } },
    provider,
    trouble: { status: 503, body: {} },
    ordered: false,
    request: ({ secret }, said) => {
      const id = `generic-${positionOf(said)}`;
      const body = JSON.stringify({
        ...{ message_id: id, conversation_id: `with-${said.person}`, text: said.text },
        user: { id: `user-${said.person}`, name: `Person ${said.person}` },
      });
      return { headers: signed({ scheme: 'standard', secret }, body, { id }), body };
    },
    heard: () =>
      provider.bodies('/message').map((body) => {
        const { message_id, conversation_id, text } = body['data'] as Record<string, string>;
        return { person: personIn(conversation_id), id: String(message_id), text: String(text) };
      }),
  };
}

async function telegramLine(): Promise<ChannelLine> {
  const credentials = { bot_token: '12345:bot-token', secret_token: 'telegram-secret-token' };
  const provider = await startTelegram(new Set([credentials.bot_token]));
  return {
    type: 'telegram',
    fields: { credentials },
    provider,
    trouble: {
      status: 429,
      body: { ok: false, error_code: 429, description: 'Too Many Requests', parameters: { retry_after: 1 } },
    },
    ordered: true,
    request: (_channel, said) => {
      const from = { id: said.person, is_bot: false, first_name: `Person ${said.person}` };
      const message = { message_id: said.place, from, chat: { id: said.person, type: 'private' } };
      const body = JSON.stringify({
        ...{ update_id: positionOf(said), message: { ...message, text: said.text } },
      });
      return { headers: { 'x-telegram-bot-api-secret-token': credentials.secret_token }, body };
    },
    heard: () =>
      provider
        .bodies('sendMessage')
        .map(({ chat_id, text }) => ({ person: personIn(chat_id), id: null, text: String(text) })),
  };
}

async function slackLine(): Promise<ChannelLine> {
  const credentials = { bot_token: 'xoxb-token', signing_secret: 'slack-signing-secret' };
  const provider = await startSlack(new Set([credentials.bot_token]));
  return {
    type: 'slack',
    fields: { credentials },
    provider,
    trouble: {
      status: 429,
      headers: { 'retry-after': '1' },
      body: { ok: false, error: 'ratelimited' },
    },
    ordered: true,
    request: (_channel, said, repeat) => {
      const position = positionOf(said);
      const body = JSON.stringify({
        ...{ type: 'event_callback', event_id: `Ev${position}`, authorizations: [{ user_id: 'UBOT' }] },
        event: {
          ...{ type: 'message', user: `U${said.person}`, channel: `D${said.person}`, channel_type: 'im' },
          ...{ ts: `1700000000.${String(position).padStart(6, '0')}`, text: said.text },
        },
      });
      const retry = { 'x-slack-retry-num': String(repeat), 'x-slack-retry-reason': 'http_timeout' };
      const signing = { scheme: 'slack', secret: credentials.signing_secret } as const;
      return {
        headers: { ...signed(signing, body, { id: '' }), ...(repeat > 0 && retry) },
        body,
      };
    },
    heard: () =>
      provider
        .bodies('chat.postMessage')
        .map(({ channel, text }) => ({ person: personIn(channel), id: null, text: String(text) })),
  };
}

/** A line of Zalo, with the account that consents. */
async function zaloLine(): Promise<ChannelLine & { account: ZaloAccount }> {
  const account = new ZaloAccount();
  const provider = await ProviderServer.start((call) => account.answer(call));
  const credentials = { app_secret: 'zalo-app-secret', oa_secret: 'zalo-oa-secret' };
  return {
    account,
    type: 'zalo_oa',
    fields: { config: { app_id: '777' }, credentials },
    provider,
    trouble: { status: 500, body: {} },
    ordered: true,
    request: (_channel, said) => {
      const timestamp = String(firstMs + positionOf(said));
      const body = JSON.stringify({
        ...{ app_id: '777', event_name: 'user_send_text', timestamp },
        ...{ sender: { id: `9000${said.person}` }, recipient: { id: '5550001' } },
        message: { msg_id: `zalo-${positionOf(said)}`, text: said.text },
      });
      return { headers: zaloHeaders({ app: '777', secret: credentials.oa_secret }, body), body };
    },
    heard: () =>
      provider.bodies('/message/cs').map(({ recipient, message }) => ({
        person: personIn((recipient as { user_id: string }).user_id.replace(/^9000/, '')),
        id: null,
        text: (message as { text: string }).text,
      })),
  };
}

/** A line of each type. */
export async function channelLines(): Promise<{ lines: ChannelLine[]; account: ZaloAccount }> {
  const zalo = await zaloLine();
  return {
    lines: [await genericLine(), await telegramLine(), await slackLine(), zalo],
    account: zalo.account,
  };
}
