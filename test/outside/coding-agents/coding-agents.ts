import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { LocalCredentials } from '@gatehouse/local/credentials';
import { instructionText } from '@gatehouse/test/provider-simulator/faults';
import { check, mustHold, setting } from '../step.ts';
import { keyHelper, logInByBrowser } from './command-line-login.ts';
import { guardedSession, type Turn } from './guarded-session.ts';
import { inNewHome, missing, output, withHome } from './program.ts';
import { stoppedSession } from './stopped-session.ts';

/** A step of `make test-outside` (60-coding-agents.sh). Its argument is the folder of the packages. */

const packages = process.argv.at(-1) ?? '';
/** A model of each API in `deploy/local/models.yaml`. */
const models = {
  chat: 'gpt-4.1-mini',
  responses: 'gpt-5.4-nano',
  messages: 'claude-sonnet-5-5',
  gemini: 'gemini-3.8-flash',
};
const {
  url,
  user_key: key,
  admin_key: adminKey,
} = JSON.parse(
  readFileSync(path.join(setting('GATEHOUSE_STATE'), 'credentials.json'), 'utf8'),
) as LocalCredentials;

/** Makes the simulator call a tool in the first turn of a session. */
const callingTool = (name: string, input: object) => ({
  x_simulator: { tool_calls: [{ name, arguments: input }] },
});
const calling = callingTool('Bash', { command: 'echo hi' });

const claudeSettings = {
  ANTHROPIC_BASE_URL: url,
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  DISABLE_TELEMETRY: '1',
};
/** With a model of Anthropic's own API. */
const claudeDirect = {
  ...claudeSettings,
  ANTHROPIC_MODEL: models.messages,
  CLAUDE_CODE_EXTRA_BODY: JSON.stringify(calling),
};

/** The same in a prompt, for models with an API that the requests are translated to. */
function askedFor(name: string, input: object, prompt = 'run echo hi'): string {
  return `${prompt} ${instructionText({ tool_calls: [{ name, arguments: input }] })}`;
}

/** A streamed session of Claude Code: the tool's call and result, an answer that has the result. */
const sessionOfClaude = (printed: string, ...others: string[]): string | null =>
  missing(
    printed,
    ...others,
    '"input_json_delta"',
    '"content":"hi","is_error":false',
    '"result":"This is the Gatehouse provider simulator. ',
  );
/** The simulator's answer to the tool's result, which each API has in its own form. */
const toolsSaid = {
  ...{ chat: 'The tools said: hi"', responses: 'said: hi"', messages: 'The tools said: hi"' },
  gemini: String.raw`The tools said: {\"output\":\"hi\"}"`,
};
const signedThinking = ['"thinking_delta"', '"signature_delta"'];

const claude = path.join(packages, '@anthropic-ai/claude-code/cli-wrapper.cjs');
const claudeArguments = (prompt: string): string[] => [
  ...[claude, '-p', prompt, '--allowedTools', 'Bash'],
  ...['--output-format', 'stream-json', '--verbose', '--include-partial-messages'],
];
const sdk = path.join(packages, '@anthropic-ai/claude-agent-sdk/sdk.mjs');
const sdkArguments = [path.join(import.meta.dirname, 'agent-sdk.ts'), sdk];

/** A session of Codex: the tool's call and result, an answer that has the result. All its calls are streamed. */
const sessionOfCodex = (printed: string, ...others: string[]): string | null =>
  missing(
    printed,
    ...others,
    String.raw`"aggregated_output":"hi\n","exit_code":0,"status":"completed"`,
    '"type":"agent_message","text":"This is the Gatehouse provider simulator. ',
  );
/** The tool's output in the simulator's answer: Gemini's API has results in JSON. */
const outputIn = (api: keyof typeof models): string =>
  api === 'gemini' ? String.raw`Output:\\nhi` : String.raw`Output:\nhi`;
const thought = '"type":"reasoning","text":"The simulator thinks about what you said."';

const codex = path.join(packages, '@openai/codex/bin/codex.js');
const provider = `{ name = "Gatehouse", base_url = "${url}/v1", env_key = "GATEHOUSE_KEY", wire_api = "responses" }`;
const throughProvider = ['model_provider="gatehouse"', `model_providers.gatehouse=${provider}`];
const codexArguments = (
  model: string,
  prompt: string,
  settings: string[],
  resume: string[] = [],
): string[] => [
  ...[codex, 'exec', ...resume, '--json', '--skip-git-repo-check'],
  // Its sandbox needs rights that a container has not. The folder and the home are new.
  '--dangerously-bypass-approvals-and-sandbox',
  ...[`model="${model}"`, ...settings].flatMap((line) => ['-c', line]),
  prompt,
];
const codexPrompt = (command: string): string => `use the tool exec_command to run \`${command}\``;

for (const variable of ['ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_API_KEY']) {
  const settings = { ...claudeDirect, [variable]: key };
  await check(`Claude Code: a streamed session with ${variable}`, async () => {
    const prompt = 'use the tool Bash to run echo hi';
    const printed = await inNewHome(process.execPath, claudeArguments(prompt), settings);
    return sessionOfClaude(printed, ...signedThinking, toolsSaid.messages);
  });
  await check(`Claude Agent SDK: a streamed session with ${variable}`, async () =>
    sessionOfClaude(
      await inNewHome(process.execPath, sdkArguments, settings),
      ...signedThinking,
      toolsSaid.messages,
    ),
  );
}

for (const [program, args] of [
  ['Claude Code', claudeArguments('hi')],
  ['Claude Agent SDK', sdkArguments],
] as const)
  await check(`${program}: a stopped session ends, and a held one sends one request`, async () => {
    // One part of the answer arrives, and then none.
    const slow = { x_simulator: { chunks: 2, chunk_delay_ms: 600_000 } };
    const { cut, held } = await stoppedSession({ url, adminKey }, (address, ownKey) =>
      inNewHome(process.execPath, [...args], {
        ...{ ...claudeDirect, ANTHROPIC_BASE_URL: address, ANTHROPIC_API_KEY: ownKey },
        CLAUDE_CODE_EXTRA_BODY: JSON.stringify(slow),
      }),
    );
    // A cut stream is asked for once more, as one whole answer. The hold refuses it for good.
    return (
      mustHold(cut.requests <= 1, `${cut.requests} more requests: ${cut.printed}`) ??
      mustHold(held.requests === 1, `${held.requests} requests: ${held.printed}`) ??
      missing(cut.printed, 'run_stopped') ??
      missing(held.printed, 'run_stopped')
    );
  });

for (const api of ['chat', 'responses', 'gemini'] as const) {
  await check(`Claude Code: a streamed session with a model of the API ${api}`, async () => {
    const prompt = askedFor('Bash', { command: 'echo hi' });
    const settings = { ...claudeSettings, ANTHROPIC_MODEL: models[api], ANTHROPIC_API_KEY: key };
    return sessionOfClaude(
      await inNewHome(process.execPath, claudeArguments(prompt), settings),
      toolsSaid[api],
    );
  });
}

await check('Claude Code: a streamed session with the key of gatehouse login by apiKeyHelper', () =>
  withHome(async (folder) => {
    await logInByBrowser(url, key, folder);
    const prompt = 'use the tool Bash to run echo hi';
    const options = [
      ...claudeArguments(prompt),
      ...['--settings', JSON.stringify({ apiKeyHelper: keyHelper })],
    ];
    const settings = { ...claudeDirect, XDG_CONFIG_HOME: folder };
    return sessionOfClaude(
      await inNewHome(process.execPath, options, settings),
      ...signedThinking,
      toolsSaid.messages,
    );
  }),
);

/** A streamed session of Gemini CLI: the call of a tool, its result, and an answer in pieces. */
const sessionOfGemini = (printed: string): string | null =>
  missing(
    printed,
    '"tool_name":"run_shell_command"',
    '"parameters":{"command":"echo hi"}',
    '"status":"success","output":"hi"',
    '"content":"Gatehouse ","delta":true',
    '"type":"result"',
    '"tool_calls":1,',
  );

const geminiArguments = (prompt: string): string[] => [
  path.join(packages, '@google/gemini-cli/bundle/gemini.js'),
  ...['-p', prompt, '--yolo', '--output-format', 'stream-json'],
];
const geminiSettings = (model: string) => ({
  ...{ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key, GEMINI_MODEL: model },
  GEMINI_CLI_SYSTEM_SETTINGS_PATH: path.join(import.meta.dirname, 'gemini-settings.json'),
  GEMINI_CLI_TRUST_WORKSPACE: 'true',
});

async function runGemini(model: string, prompt: string): Promise<string | null> {
  return sessionOfGemini(await inNewHome(process.execPath, geminiArguments(prompt), geminiSettings(model)));
}

// Google's signatures: the simulator refuses a call that comes back without one.
await check('Gemini CLI: a streamed session', async () =>
  runGemini(models.gemini, 'use the tool run_shell_command to run `echo hi`'),
);
for (const api of ['chat', 'responses', 'messages'] as const) {
  await check(`Gemini CLI: a streamed session with a model of the API ${api}`, async () =>
    runGemini(models[api], askedFor('run_shell_command', { command: 'echo hi' })),
  );
}

/** A session with requests that guardrails refuse goes on. `start`: how the program is run with a key. */
const checkGuarded = (
  program: string,
  start: (key: string, turn: Turn) => { args: string[]; settings: object },
): Promise<void> =>
  check(`${program}: a session goes on after requests that guardrails refuse`, () =>
    guardedSession({ url, adminKey }, (home, ownKey, turn) =>
      output(home, { command: process.execPath, ...start(ownKey, turn) }),
    ),
  );
await checkGuarded('Claude Code', (ownKey, { prompt, command, isNext }) => ({
  args: [...claudeArguments(prompt), ...(isNext ? ['--continue'] : [])],
  settings: {
    ...{ ...claudeSettings, ANTHROPIC_MODEL: models.messages, ANTHROPIC_API_KEY: ownKey },
    ...(command !== null && {
      CLAUDE_CODE_EXTRA_BODY: JSON.stringify(callingTool('Bash', { command })),
    }),
  },
}));
await checkGuarded('Gemini CLI', (ownKey, { prompt, command, isNext }) => {
  const asked = command === null ? prompt : askedFor('run_shell_command', { command }, prompt);
  return {
    args: [...geminiArguments(asked), ...(isNext ? ['--resume', 'latest'] : [])],
    settings: { ...geminiSettings(models.gemini), GEMINI_API_KEY: ownKey },
  };
});

// npm leaves the program out on machines that it has none for.
if (existsSync(path.join(packages, `@openai/codex-${process.platform}-${process.arch}`))) {
  await check('Codex: a streamed session', async () => {
    const options = codexArguments(models.responses, codexPrompt('echo hi'), throughProvider);
    return sessionOfCodex(
      await inNewHome(process.execPath, options, { GATEHOUSE_KEY: key }),
      thought,
      outputIn('responses'),
    );
  });
  await check('Codex: a streamed session after a WebSocket that is refused', async () => {
    const options = codexArguments(models.responses, codexPrompt('echo hi'), [`openai_base_url="${url}/v1"`]);
    return sessionOfCodex(
      await inNewHome(process.execPath, options, { CODEX_API_KEY: key }),
      thought,
      outputIn('responses'),
    );
  });
  for (const api of ['chat', 'messages', 'gemini'] as const) {
    await check(`Codex: a streamed session with a model of the API ${api}`, async () => {
      const prompt = askedFor('exec_command', { cmd: 'echo hi' });
      const options = codexArguments(models[api], prompt, throughProvider);
      return sessionOfCodex(
        await inNewHome(process.execPath, options, { GATEHOUSE_KEY: key }),
        outputIn(api),
      );
    });
  }
  await checkGuarded('Codex', (ownKey, { prompt, command, isNext }) => {
    const asked = command === null ? prompt : codexPrompt(command);
    const resume = isNext ? ['resume', '--last'] : [];
    return {
      args: codexArguments(models.responses, asked, throughProvider, resume),
      settings: { GATEHOUSE_KEY: ownKey },
    };
  });
} else console.log('skipped: Codex: npm has no program for this machine');
