import { pathToFileURL } from 'node:url';

/** One session of the Claude Agent SDK, whose module is the argument: prints its messages, one a line. */

interface AgentSdk {
  query: (session: { prompt: string; options: object }) => AsyncIterable<unknown>;
}

const { query } = (await import(pathToFileURL(process.argv.at(-1) ?? '').href)) as AgentSdk;
const options = { allowedTools: ['Bash'], includePartialMessages: true, settingSources: [] };
for await (const message of query({ prompt: 'use the tool Bash to run echo hi', options })) {
  console.log(JSON.stringify(message));
}
