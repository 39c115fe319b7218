import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { clientNamed, clientNames } from './client-name.ts';

describe('the name of a client', () => {
  it.each([
    ['claude-cli/2.1.332 (external, sdk-ts, agent-sdk/0.3.332)', 'claude-code'],
    ['claude-code/2.1.332', 'claude-code'],
    ['codex_exec/0.169.0 (Debian 12.0.0; x86_64) xterm (codex_exec; 0.169.0)', 'codex'],
    ['codex_cli_rs/0.169.0 (Ubuntu 24.4.0; x86_64)', 'codex'],
    ['GeminiCLI-tui/0.61.0/gemini-2.5-flash (linux; x64; terminal)', 'gemini-cli'],
    ['QwenCode/0.24.4 (linux; x64)', 'qwen-code'],
    ['opencode/1.18.33 (linux 6.18; x64) ai-sdk/provider-utils/4.0.40 runtime/bun/1.3.14', 'opencode'],
    ['Aider/0.86.1', 'aider'],
    ['n8n', 'n8n'],
    ['OpenAI/JS 7.57.0', 'openai-sdk'],
    ['AsyncOpenAI/Python 3.3.0', 'openai-sdk'],
    ['AzureOpenAI/JS 7.57.0', 'openai-sdk'],
    ['Anthropic/JS 1.14.0', 'anthropic-sdk'],
    ['AsyncAnthropic/Python 2.14.0', 'anthropic-sdk'],
    ['google-genai-sdk/3.6.1+afc gl-python/3.12.1', 'google-genai-sdk'],
    [
      'google-genai-sdk/3.6.1 gl-python/3.12.1 langchain-google-genai/4.4.3-ChatGoogleGenerativeAI',
      'langchain',
    ],
    ['langchainjs-openai/1.0.0 ((node/v24.21.0; linux; x64))', 'langchain'],
    ['google-genai-sdk/3.6.1 gl-python/3.12.1 pydantic-ai/2.38.0 pydantic-ai/2.38.0', 'pydantic-ai'],
    ['Agents/JavaScript 0.20.0', 'openai-agents'],
    ['instructor/1.17.0', 'instructor'],
    ['litellm/1.110.2', 'litellm'],
    ['ai/7.0.173 ai-sdk-provider-utils/5.0.81 node.js/24', 'vercel-ai-sdk'],
    ['ai-sdk-anthropic/4.0.105 ai-sdk-provider-utils/5.0.81 node.js/24', 'vercel-ai-sdk'],
    ['ai-sdk/openai-compatible/3.0.37 ai-sdk/provider-utils/5.0.30 runtime/bun/1.3.13', 'vercel-ai-sdk'],
    ['curl/8.14.1', 'curl'],
    ['node', 'other'],
    ['Bun/1.4.6', 'other'],
    ['Mozilla/5.0 (compatible; codex/1.0)', 'other'],
    ['', 'other'],
    [undefined, 'other'],
  ])('in %j is %s, and from memory', (userAgent, name) => {
    expect(clientNamed(userAgent)).toBe(name);
    expect(clientNamed(userAgent)).toBe(name);
  });

  it('is of the list for any value, and found within the first 512 characters', () => {
    fc.assert(fc.property(fc.string(), (value) => clientNames.includes(clientNamed(value))));
    expect(clientNamed(`${'x '.repeat(256)}curl/8`)).toBe('other');
    expect(clientNamed('('.repeat(1_000_000))).toBe('other');
  });

  it('is listed in the documentation', async () => {
    const page = await readFile('docs/tenants/traces.md', 'utf8');
    for (const name of clientNames) expect(page).toContain(`\`${name}\``);
  });
});
