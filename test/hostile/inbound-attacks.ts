import { signed } from '@gatehouse/test/webhook-senders';
import { zaloHeaders } from '@gatehouse/test/channel-providers';
import { makeAgent, newName, times, type Attack, type Ground } from './attacks.ts';
import { hookAnswers } from './hook-answers.ts';
import { deep, worstValues } from './shapes.ts';

const KiB = 1024;
/** With the rest of a message, less than the 256 KiB that it may have. */
const messageBytes = 250 * KiB;
/** The same for a delivery of a mebibyte. */
const deliveryBytes = 1_000 * KiB;

/** The messages of a provider, and their proof. */
interface Provider {
  type: 'telegram' | 'slack' | 'zalo_oa';
  config: object;
  credentials: object;
  /** A message of a conversation. */
  message: (id: string, text: string, more?: string) => string;
  prove: (body: string) => Record<string, string>;
  /** Places of the message that take any value. */
  places: (value: string) => string[];
  /** Texts that are slow to read. */
  texts: readonly string[];
}

const app = { app: '4711', secret: 'zalo-oa-secret' };
/** Each could go on to the end of the text, as the name of the person who is mentioned. */
const mentions = '<@a|'.repeat(messageBytes / 4);
const slackMessage = (id: string, event: string): string =>
  `{"type":"event_callback","event_id":"${id}","authorizations":[{"user_id":"B"}],"event":{"type":"message","user":"U","channel":"D1","ts":"1700000001.000200",${event}}}`;

const providers: readonly Provider[] = [
  {
    ...{ type: 'telegram', config: {} },
    credentials: { bot_token: '4711:telegram-bot-token', secret_token: 'telegram-secret-token' },
    message: (id, text, more = '') =>
      `{"update_id":${id},"message":{"message_id":1,"from":{"id":5,"is_bot":false},"chat":{"id":5,"type":"private"},"text":${text}${more}}}`,
    prove: () => ({ 'x-telegram-bot-api-secret-token': 'telegram-secret-token' }),
    places: (value) => [`,"photo":${value}`, `,"chat":${value}`, `,"entities":${value}`],
    texts: [],
  },
  {
    ...{ type: 'slack', config: {} },
    credentials: { bot_token: 'xoxb-slack-token', signing_secret: 'slack-signing-secret' },
    message: (id, text, more = '') => slackMessage(`e${id}`, `"text":${text}${more}`),
    prove: (body) => signed({ scheme: 'slack', secret: 'slack-signing-secret' }, body, { id: '' }),
    places: (value) => [`,"files":${value}`, `,"user":${value}`, `},"authorizations":${value},"x":{"a":1`],
    texts: [mentions, '<@B>'.repeat(messageBytes / 4), '&amp;lt;'.repeat(messageBytes / 8)],
  },
  {
    type: 'zalo_oa',
    config: { app_id: app.app, oa_id: '5550001' },
    credentials: { app_secret: 'zalo-app-secret', oa_secret: app.secret },
    message: (id, text, more = '') =>
      `{"event_name":"user_send_text","sender":{"id":"u"},"recipient":{"id":"5550001"},"timestamp":"${Date.now()}","message":{"msg_id":"${id}","text":${text}${more}}}`,
    prove: (body) => zaloHeaders(app, body),
    places: (value) => [`,"msg_id":${value}`, `,"attachments":${value}`, `},"sender":{"id":${value}`],
    texts: [],
  },
];

/** Some at once: a network may have only so many requests under way. */
async function inGroups(works: readonly (() => Promise<unknown>)[], atOnce = 4): Promise<void> {
  for (let from = 0; from < works.length; from += atOnce)
    await Promise.all(works.slice(from, from + atOnce).map((work) => work()));
}

/** Sends each of the worst messages of a provider, and some that get replies. */
async function write(ground: Ground, provider: Provider): Promise<void> {
  const { type, config, credentials, message, places, texts } = provider;
  const agent = await makeAgent(ground, {});
  const made = await ground.send('/v1/channels/instances', {
    body: { name: newName(), agent_id: agent, type, config, credentials },
  });
  const { id } = JSON.parse(made) as { id: string };
  const post = (body: string): Promise<string> =>
    ground.send(`/v1/webhooks/message?channel=${id}`, {
      body,
      headers: provider.prove(body),
      statuses: [200, 202, 400, 413, 429],
    });
  const values = worstValues(messageBytes);
  const bodies = [
    ...values.flatMap(places).map((more, n) => message(String(n), '"Hello."', more)),
    ...[...values.slice(-2), ...texts.map((text) => JSON.stringify(text))].map((text, n) =>
      message(`${n + 100}`, text),
    ),
  ];
  const sent = ground.few(bodies.length);
  // The last ones are the texts, which are read to their ends.
  await inGroups(bodies.slice(-sent).map((body) => () => post(body)));
  const before = ground.server.received(`/${type}/`);
  await times(ground.few(6), (n) => post(message(`${n + 200}`, '"Hello."')));
  // Zalo has no consent, so that nothing is sent to it.
  if (type !== 'zalo_oa') await ground.server.untilReceived(`/${type}/`, before + 1);
}

/** Delivers to an endpoint whose results get these answers. */
async function deliverFor(ground: Ground, answer: string): Promise<void> {
  const agent = await makeAgent(ground, {});
  const url = `/hook/${answer}`;
  const made = await ground.send('/v1/webhooks/endpoints', {
    body: {
      ...{ name: newName(), agent_id: agent, scheme: 'standard', mode: 'async' },
      callback_url: ground.server.url(url),
    },
  });
  const { id, secret } = JSON.parse(made) as { id: string; secret: string };
  const before = ground.server.received(url);
  await times(ground.few(3), (index) => {
    const body = '{"input":"Go."}';
    const headers = signed({ scheme: 'standard', secret }, body, { id: `d${index}` });
    return ground.send(`/v1/webhooks/llm?endpoint=${id}`, { body, headers, statuses: [202] });
  });
  await ground.server.untilReceived(url, before + 1);
}

/** Senders of messages and deliveries, and receivers of results and events. */
export const inboundAttacks: Attack[] = [
  ...providers.map((provider) => ({
    name: `messages of ${provider.type} that are as large as they may be, and answers to replies`,
    run: (ground: Ground) => write(ground, provider),
  })),
  {
    name: 'events of Zalo that nothing proves',
    run: async (ground) => {
      const [zalo] = providers.filter(({ type }) => type === 'zalo_oa');
      const agent = await makeAgent(ground, {});
      const { type, config, credentials } = zalo ?? {};
      const made = await ground.send('/v1/channels/instances', {
        body: { name: newName(), agent_id: agent, type, config, credentials },
      });
      const { id } = JSON.parse(made) as { id: string };
      const forge = (body: string) => (): Promise<string> =>
        ground.send(`/v1/webhooks/message?channel=${id}`, {
          body,
          headers: { 'x-zevent-signature': 'mac=forged' },
          statuses: [401, 429],
        });
      // The slowest to parse.
      const slowest = Array.from({ length: ground.few(64) }, () => forge(deep(messageBytes)));
      await inGroups([...worstValues(messageBytes).map(forge), ...slowest], 16);
    },
  },
  {
    name: 'deliveries that are as large as they may be',
    run: async (ground) => {
      const agent = await makeAgent(ground, {});
      const made = await ground.send('/v1/webhooks/endpoints', {
        body: { name: newName(), agent_id: agent, scheme: 'github', mode: 'async' },
      });
      const { id, secret } = JSON.parse(made) as { id: string; secret: string };
      const post = (body: string, type: string): Promise<string> =>
        ground.send(`/v1/webhooks/llm?endpoint=${id}`, {
          body,
          headers: {
            ...signed({ scheme: 'github', secret }, body, { id: newName() }),
            'content-type': type,
          },
          statuses: [202, 400, 413, 422, 429],
        });
      const values = worstValues(deliveryBytes);
      const form = 'application/x-www-form-urlencoded';
      const forms = ['%7B'.repeat(deliveryBytes / 3), `payload=${'+'.repeat(deliveryBytes)}`];
      const all = [
        ...values.map((value) => () => post(`{"input":${value}}`, 'application/json')),
        ...values.map((value) => () => post(`{"input":"Go.","metadata":${value}}`, 'application/json')),
        ...forms.map((body) => () => post(body, form)),
      ];
      await inGroups(all.slice(0, ground.few(all.length)));
    },
  },
  {
    name: 'answers to results of endpoints that have no end, are deep, or have large headers',
    run: (ground) => Promise.all(hookAnswers.map((answer) => deliverFor(ground, answer))),
  },
  {
    name: 'answers to events that have no end, are deep, or have large headers',
    run: async (ground) => {
      await Promise.all(
        hookAnswers.map((answer) =>
          ground.send('/v1/webhooks/subscriptions', {
            body: { url: ground.server.url(`/hook/${answer}/event`), event_types: ['run.failed'] },
            // A tenant may have 50.
            statuses: [201, 403],
          }),
        ),
      );
      const before = ground.server.received('/hook/endless/event');
      // There is one event a minute for each agent.
      await times(ground.few(6), async () => {
        const agent = await makeAgent(ground, { model: 'hostile-broken' });
        const body = { model: `agent:${agent}`, messages: [{ role: 'user', content: 'Go.' }] };
        await ground.send('/v1/chat/completions', { body, statuses: [502, 503] });
      });
      await ground.server.untilReceived('/hook/endless/event', before + 1);
    },
  },
  {
    name: 'a list of models that the tenant has filled',
    run: async (ground) => {
      const agents = Array.from({ length: ground.few(300) }, () => () => makeAgent(ground, {}));
      await inGroups(agents, 10);
      await times(ground.few(60), () => ground.send('/v1/models', { method: 'GET' }));
    },
  },
];
