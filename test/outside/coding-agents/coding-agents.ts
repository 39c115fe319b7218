import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Credentials } from '@gatehouse/local/credentials';
import { check, setting } from '../step.ts';

/** A step of `make test-outside` (60-coding-agents.sh). Its argument is the folder of the packages. */

const packages = process.argv.at(-1) ?? '';
const model = 'claude-sonnet-5-5';
const { url, user_key: key } = JSON.parse(
  readFileSync(path.join(setting('GATEHOUSE_STATE'), 'credentials.json'), 'utf8'),
) as Credentials;

/** Makes the simulator call this tool in the first turn of a session. */
const calling = { x_simulator: { tool_calls: [{ name: 'Bash', arguments: { command: 'echo hi' } }] } };

const claudeSettings = {
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_MODEL: model,
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  CLAUDE_CODE_EXTRA_BODY: JSON.stringify(calling),
  DISABLE_AUTOUPDATER: '1',
  DISABLE_TELEMETRY: '1',
};

/** Runs a program in a folder and a home of its own, and returns its output. A dead proxy keeps it from other machines. */
async function output(command: string, args: string[], settings: object): Promise<string> {
  const home = await mkdtemp(path.join(tmpdir(), 'gatehouse-coding-agent-'));
  try {
    const proxy = 'http://127.0.0.1:9';
    const program = spawn(command, args, {
      cwd: home,
      env: {
        ...{ PATH: process.env['PATH'], HOME: home },
        ...{ HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: '127.0.0.1' },
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 120_000,
    });
    const [printed, complained] = await Promise.all([
      text(program.stdout),
      text(program.stderr),
      once(program, 'close'),
    ]);
    if (program.exitCode !== 0) throw new Error(`${complained}${printed}`.slice(-1_500));
    return printed;
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The first of these texts that the output lacks, if any, with the end of the output. */
function missing(printed: string, ...texts: string[]): string | null {
  const lacking = texts.find((wanted) => !printed.includes(wanted));
  if (lacking === undefined) return null;
  return `no ${lacking} in: ${printed.replaceAll(/\s+/g, ' ').slice(-1_000)}`;
}

/** A streamed session of Claude Code: signed thinking, the tool's call and result, an answer that has the result. */
const sessionOfClaude = (printed: string): string | null =>
  missing(
    printed,
    '"thinking_delta"',
    '"signature_delta"',
    '"input_json_delta"',
    '"content":"hi","is_error":false',
    '"result":"This is the Gatehouse provider simulator. The tools said: hi"',
  );

const claude = path.join(packages, '@anthropic-ai/claude-code/cli-wrapper.cjs');
const claudeArguments = [
  ...[claude, '-p', 'use the tool Bash to run echo hi', '--allowedTools', 'Bash'],
  ...['--output-format', 'stream-json', '--verbose', '--include-partial-messages'],
];
const sdk = path.join(packages, '@anthropic-ai/claude-agent-sdk/sdk.mjs');
const sdkArguments = [path.join(import.meta.dirname, 'agent-sdk.ts'), sdk];

/** A session of Codex: a thought, the tool's call and result, an answer that has the result. All its calls are streamed. */
const sessionOfCodex = (printed: string): string | null =>
  missing(
    printed,
    '"type":"reasoning","text":"The simulator thinks about what you said."',
    String.raw`"aggregated_output":"hi\n","exit_code":0,"status":"completed"`,
    '"type":"agent_message","text":"This is the Gatehouse provider simulator. You said: ',
    String.raw`Output:\nhi`,
  );

const codex = path.join(packages, '@openai/codex/bin/codex.js');
const provider = `{ name = "Gatehouse", base_url = "${url}/v1", env_key = "GATEHOUSE_KEY", wire_api = "responses" }`;
const codexArguments = (...settings: string[]): string[] => [
  ...[codex, 'exec', '--json', '--skip-git-repo-check'],
  // Its sandbox needs rights that a container has not. The folder and the home are new.
  '--dangerously-bypass-approvals-and-sandbox',
  ...['model="gpt-5.4-nano"', ...settings].flatMap((line) => ['-c', line]),
  'use the tool exec_command to run `echo hi`',
];

for (const variable of ['ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_API_KEY']) {
  const settings = { ...claudeSettings, [variable]: key };
  await check(`Claude Code: a streamed session with ${variable}`, async () =>
    sessionOfClaude(await output(process.execPath, claudeArguments, settings)),
  );
  await check(`Claude Agent SDK: a streamed session with ${variable}`, async () =>
    sessionOfClaude(await output(process.execPath, sdkArguments, settings)),
  );
}

/** A streamed session of Gemini CLI: the call of a tool, whose signature it sends back, its result, and an answer in pieces. */
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

await check('Gemini CLI: a streamed session', async () =>
  sessionOfGemini(
    await output(
      process.execPath,
      [
        path.join(packages, '@google/gemini-cli/bundle/gemini.js'),
        ...['-p', 'use the tool run_shell_command to run `echo hi`'],
        ...['--yolo', '--output-format', 'stream-json'],
      ],
      {
        ...{ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key, GEMINI_MODEL: 'gemini-3.8-flash' },
        GEMINI_CLI_SYSTEM_SETTINGS_PATH: path.join(import.meta.dirname, 'gemini-settings.json'),
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
      },
    ),
  ),
);

// npm leaves the program out on machines that it has none for.
if (existsSync(path.join(packages, `@openai/codex-${process.platform}-${process.arch}`))) {
  await check('Codex: a streamed session', async () => {
    const settings = ['model_provider="gatehouse"', `model_providers.gatehouse=${provider}`];
    const printed = await output(process.execPath, codexArguments(...settings), { GATEHOUSE_KEY: key });
    return sessionOfCodex(printed);
  });
  await check('Codex: a streamed session after a WebSocket that is refused', async () => {
    const settings = [`openai_base_url="${url}/v1"`];
    return sessionOfCodex(
      await output(process.execPath, codexArguments(...settings), { CODEX_API_KEY: key }),
    );
  });
} else console.log('skipped: Codex: npm has no program for this machine');
