import { setTimeout as sleep } from 'node:timers/promises';
import { expectSuccess, GatewayClient } from '@gatehouse/local/gateway-client';
import { mustHold } from '../step.ts';
import { missing, withHome } from './program.ts';

/** One request of a person to a program. */
export interface Turn {
  prompt: string;
  /** The command that the model has the program run; null for an answer in words. */
  command: string | null;
  /** Whether it belongs to the session before it in the same home. */
  isNext: boolean;
}

const message = 'That name is secret.';
const goOn: Turn = { prompt: 'go on', command: null, isNext: true };

/**
 * Has a program meet guardrails on the requests of a key of its own: one that masks addresses, one that blocks a name. A
 * session goes on after a blocked prompt, and after a blocked result of a tool. `run` returns all that the program prints,
 * or its complaints.
 */
export async function guardedSession(
  { url, adminKey }: { url: string; adminKey: string },
  run: (home: string, key: string, turn: Turn) => Promise<string>,
): Promise<string | null> {
  const client = new GatewayClient(url);
  const call = async (method: string, path: string, body?: object) =>
    expectSuccess(await client.call(adminKey, method, path, body), path);
  const made = await call('POST', '/v1/api-keys', { name: 'Guarded', role: 'user' });
  const key = made as { id: string; key: string };
  const select = { api_keys: [key.id] };
  const guardrails = [
    { name: `masks-${key.id}`, action: 'mask', check: { type: 'pii' }, select },
    {
      ...{ name: `blocks-${key.id}`, action: 'block', message, select },
      check: { type: 'patterns', words: ['heronfall'] },
    },
  ];
  try {
    for (const guardrail of guardrails) await call('POST', '/v1/guardrails', guardrail);
    await held(client, key.key);
    const printed = (home: string, turn: Turn) => run(home, key.key, turn).catch(String);
    const refusedThenAnswered = (turn: Pick<Turn, 'prompt' | 'command'>) =>
      withHome(async (home) => {
        const refused = await printed(home, { ...turn, isNext: false });
        const next = await printed(home, goOn);
        return (
          missing(refused, message) ??
          missing(next, 'Gatehouse') ??
          mustHold(!next.includes(message), `refused again: ${next.slice(-1_000)}`)
        );
      });
    return (
      (await refusedThenAnswered({ prompt: 'run it', command: "printf 'her%s' onfall" })) ??
      (await refusedThenAnswered({ prompt: 'what is heronfall', command: null })) ??
      (await withHome(async (home) => {
        const turn = { prompt: 'run it', command: 'printf %s@%s ada lovelace.dev', isNext: false };
        return missing(await printed(home, turn), 'ada@lovelace.dev', '[EMAIL]');
      }))
    );
  } finally {
    for (const { name } of guardrails) await call('DELETE', `/v1/guardrails/${name}`);
  }
}

/** Resolves once the guardrails hold, which takes some seconds. */
async function held(client: GatewayClient, key: string): Promise<void> {
  const body = { model: 'gpt-4.1-mini', messages: [{ role: 'user', content: 'heronfall' }] };
  for (let tries = 0; tries < 300; tries += 1) {
    const { status, body: refusal } = await client.call(key, 'POST', '/v1/chat/completions', body);
    if (status === 400 && JSON.stringify(refusal).includes(message)) return;
    await sleep(200);
  }
  throw new Error('the guardrails do not hold');
}
