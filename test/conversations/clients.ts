import { dialectNames, type DialectName } from '@gatehouse/contract/dialects';
import type { Client, ClientKind, Line, Transport } from './client.ts';
import { geminiCli, rawClients, type RawClient } from './raw-clients.ts';
import { overFetch } from './raw-transport.ts';
import { agentsClient } from './sdk/agents.ts';
import { aiSdkClient } from './sdk/ai-sdk.ts';
import { anthropicTransport } from './sdk/anthropic.ts';
import { googleTransport } from './sdk/google.ts';
import { langChainClient } from './sdk/langchain.ts';
import { openAiTransport } from './sdk/openai.ts';

/** Clients of each dialect by `fetch`. */
export const rawKinds: readonly ClientKind[] = dialectNames.map((dialect) => ({
  name: dialect,
  dialect,
  isRaw: true,
  open: (line) => clientOf(dialect, overFetch(line), line),
}));

/** The official SDK of each dialect, which reads the answers and, Google's, stores the history; and Gemini CLI. */
export const sdkKinds: readonly ClientKind[] = [
  { name: 'openai chat', dialect: 'chat', open: (line) => clientOf('chat', openAiTransport(line), line) },
  {
    name: 'openai responses',
    dialect: 'responses',
    open: (line) => clientOf('responses', openAiTransport(line), line),
  },
  {
    name: 'anthropic',
    dialect: 'messages',
    open: (line) => clientOf('messages', anthropicTransport(line), line),
  },
  { name: 'google', dialect: 'gemini', open: (line) => clientOf('gemini', googleTransport(line), line) },
  {
    name: 'Gemini CLI',
    dialect: 'gemini',
    open: (line) => clientFor(geminiCli(), overFetch(line), line),
  },
  ...dialectNames.map((dialect): ClientKind => ({
    name: `AI SDK ${dialect}`,
    dialect,
    open: (line) => aiSdkClient(line, dialect),
  })),
  ...dialectNames.map((dialect): ClientKind => ({
    name: `LangChain ${dialect}`,
    dialect,
    open: (line) => langChainClient(line, dialect),
  })),
  ...(['chat', 'responses'] as const).map((dialect): ClientKind => ({
    name: `Agents SDK ${dialect}`,
    dialect,
    open: (line) => agentsClient(line, dialect),
  })),
];

function clientOf(dialect: DialectName, transport: Transport, line: Line): Client {
  return clientFor(rawClients[dialect](), transport, line);
}

function clientFor(conversation: RawClient, transport: Transport, { stream }: Line): Client {
  return {
    say: async (turn, place) =>
      conversation.answered(await transport(conversation.request(turn, place, stream))),
  };
}
