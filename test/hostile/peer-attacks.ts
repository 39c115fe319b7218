import { signed } from '@gatehouse/test/webhook-senders';
import { makeAgent, newName, times, type Attack, type Ground } from './attacks.ts';
import { oauthDocuments, oauthShapes } from './authorization-answers.ts';
import { answerModels, responseModels, streamModels } from './provider-answers.ts';
import { listOf } from './shapes.ts';

const KiB = 1024;

async function makeChannel(ground: Ground, callback: string): Promise<{ id: string; secret: string }> {
  const agent = await makeAgent(ground, {});
  const config = { callback_url: ground.server.url(callback) };
  const body = { name: newName(), agent_id: agent, type: 'generic', config };
  return JSON.parse(await ground.send('/v1/channels/instances', { body })) as { id: string; secret: string };
}

const sendMessage = (
  { send }: Ground,
  { id: channel, secret }: { id: string; secret: string },
  { body, id, statuses }: { body: string; id: string; statuses: readonly number[] },
): Promise<string> =>
  send(`/v1/webhooks/message?channel=${channel}`, {
    ...{ body, statuses },
    headers: signed({ scheme: 'standard', secret }, body, { id }),
  });

const messageOf = (id: string, more = ''): string =>
  `{"message_id":"${id}","conversation_id":"c-${id}","user":{"id":"u"},"text":"Hello."${more}}`;

/** Peers that the gateway calls, or that call it, each with the worst that fits into its limit. */
export const peerAttacks: Attack[] = [
  {
    name: 'answers and streams of a provider that are as large as they may be',
    run: async ({ send }) => {
      const ask = (model: string, stream: boolean): Promise<string> =>
        send('/v1/chat/completions', {
          body: { model: `hostile-${model}`, stream, messages: [{ role: 'user', content: 'Go.' }] },
          statuses: [200, 502, 503],
        });
      // One after the other: the tenant's streams beside them are what is measured.
      for (const model of answerModels) await ask(model, false);
      for (const model of streamModels) await ask(model, true).catch(() => 'cut');
    },
  },
  {
    name: 'headers, hints and trailers of a provider without an end',
    run: async ({ send, few }) => {
      const ask = (model: string): Promise<string> =>
        send('/v1/chat/completions', {
          body: { model: `hostile-${model}`, messages: [{ role: 'user', content: 'Go.' }] },
          statuses: [502, 503],
        });
      for (const model of responseModels) await times(few(24), () => ask(model));
    },
  },
  {
    name: 'documents of authorization servers that are as large as they may be',
    run: (ground) =>
      Promise.all(
        oauthDocuments.flatMap((document) =>
          oauthShapes.map((shape) =>
            ground.send('/v1/mcp/servers', {
              body: {
                ...{ name: newName(), url: ground.server.url(`/oauth/${document}/${shape}`) },
                auth: { type: 'oauth_client_credentials', client_id: 'a', client_secret: 'b' },
              },
              statuses: [422],
            }),
          ),
        ),
      ),
  },
  {
    name: 'messages of a channel that are as large as they may be, whose replies get answers without an end',
    run: async (ground) => {
      const reply = '/hook/endless/reply';
      const before = ground.server.received(reply);
      const channel = await makeChannel(ground, reply);
      const worst = [
        `,"attachments":[${listOf('{}', 250 * KiB)}]`,
        `,"attachments":[${listOf('1', 250 * KiB)}]`,
        `,"metadata":{"a":${'['.repeat(120 * KiB)}${']'.repeat(120 * KiB)}}`,
        `,"user":{"id":[${listOf('{"a":1}', 250 * KiB)}]}`,
        `,"name":"${'\\"'.repeat(120 * KiB)}"`,
      ];
      await Promise.all(
        worst.map((more, n) =>
          sendMessage(ground, channel, { body: messageOf(`w${n}`, more), id: `w${n}`, statuses: [202, 400] }),
        ),
      );
      await times(8, (n) =>
        sendMessage(ground, channel, { body: messageOf(`m${n}`), id: `m${n}`, statuses: [202] }),
      );
      await ground.server.untilReceived(reply, before + 1);
    },
  },
];
