import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '@gatehouse/local/ports';
import { repositoryRoot } from '@gatehouse/local/settings';
import { Catalogue } from '@gatehouse/service-chat/catalogue/catalogue';
import { startSlack, startTelegram, type ProviderServer } from '@gatehouse/test/channel-providers';
import { eventually } from '@gatehouse/test/eventually';
import {
  examplesOf,
  fencedBlocks,
  programOf,
  readPages,
  shown,
  withoutSpace,
} from '@gatehouse/test/examples';
import { readIssuers } from '@gatehouse/service-tenant/issuers/issuer-settings';
import { Terminal } from '@gatehouse/test/terminal';
import { parse } from 'yaml';

const startTimeoutMs = 90_000;
const pages = readPages();
const yaml = pages.flatMap(({ name, examples }) =>
  examples.filter(({ language }) => language === 'yaml').map((example) => ({ ...example, page: name })),
);
const issuers = yaml.filter(({ page }) => page === 'login');
/** Pages with YAML for other programs beside catalogues. */
const ofOthers = new Set(['alerts-in-chat', 'slack', 'move-from-litellm-and-portkey']);
const [catalogue, ...otherYaml] = yaml.filter(
  ({ page, text }) => page !== 'login' && (!ofOthers.has(page) || /^providers:/m.test(text)),
);

const readme = readFileSync(path.join(repositoryRoot, 'README.md'), 'utf8');
const [variables] = fencedBlocks(readme).filter(({ language }) => language === 'sh');

let terminal: Terminal;
let catalogueFolder: string;
let telegram: ProviderServer;
let slack: ProviderServer;

// The system runs with the catalogue that the page about models shows, and one of its two providers is down. Telegram and
// Slack are servers on this machine.
beforeAll(async () => {
  catalogueFolder = await mkdtemp(path.join(tmpdir(), 'gatehouse-catalogue-'));
  const file = path.join(catalogueFolder, 'models.yaml');
  await writeFile(file, catalogue?.text ?? '');
  const down = `http://127.0.0.1:${await freePort()}/v1`;
  telegram = await startTelegram(new Set(['123456:replace-me']));
  slack = await startSlack(new Set(['xoxb-replace-me']));
  const settings = {
    ...{ GATEHOUSE_MODELS: file, VLLM_URL: down },
    ...{ TELEGRAM_API_URL: telegram.url, SLACK_API_URL: slack.url, WEBHOOK_ALLOW_TOKEN: '1' },
  };
  terminal = await Terminal.open(settings);
  const commandLine = path.join(repositoryRoot, 'packages/cli/src/main.ts');
  await terminal.save('bin-gatehouse', `#!/bin/sh\nexec '${process.execPath}' '${commandLine}' "$@"\n`);
  await terminal.paste(
    `${variables?.text ?? ''}
     mkdir bin && mv bin-gatehouse bin/gatehouse && chmod +x bin/gatehouse
     export PATH="$PWD/bin:$PATH" XDG_CONFIG_HOME="$PWD/config"
     export -p >variables`,
  );
}, startTimeoutMs);
afterAll(async () => {
  await terminal.close();
  await telegram.stop();
  await slack.stop();
  await rm(catalogueFolder, { recursive: true, force: true });
}, startTimeoutMs);

/** Runs are counted a moment after they end, and changes hold within seconds. Only what makes or changes something is tried once. */
function isRepeatable(script: string): boolean {
  return !/ (-d|-X) /.test(script) || script.includes('/v1/chat/completions');
}

describe.each(pages)('$file', ({ name, examples, ...page }) => {
  const scripts = examples.filter(({ language }) => language === 'sh');
  const program = programOf({ name, examples, ...page }, 'ts');

  for (const { line, text, prints } of scripts) {
    it(`shows what the commands in line ${line} print`, async () => {
      // Variables that one block of a page exports are set in the next ones.
      const session = `${name}.variables`;
      const check = async () => {
        const here = text.replaceAll('https://api.telegram.org', telegram.url);
        const printed = await terminal.paste(
          `source variables; [ ! -e ${session} ] || source ${session}\n${here}\nexport -p >${session}`,
        );
        expect(withoutSpace(printed)).toMatch(shown(prints));
      };
      await (isRepeatable(text) ? eventually(check) : check());
    });
  }

  if (program !== undefined) {
    it('shows what its TypeScript prints', async () => {
      await terminal.save(`${name}.mts`, program.code);
      const printed = await terminal.paste(`source variables; '${process.execPath}' ${name}.mts`);
      expect(withoutSpace(printed)).toMatch(shown(program.prints));
    });
  }
});

it.each(issuers)('shows issuers in line $line that the tenant service reads', ({ text }) => {
  const environment = { KEYCLOAK_CLIENT_SECRET: 'secret' };
  expect(readIssuers({ text, environment, allowsHttp: () => false })).toHaveLength(1);
});

it.each(otherYaml)('shows a catalogue in line $line that can be read', ({ text }) => {
  expect(Catalogue.parse(parse(text)).models.size).toBeGreaterThan(0);
});

it('runs every block, and has none of an unknown language or without fences', () => {
  for (const stray of [
    '```\nls\n```\n',
    '```json\n{}\n```\n',
    '~~~sh\nls\n~~~\n',
    '\n    ls\n',
    '```sh\nls\n',
  ]) {
    expect(() => examplesOf('a page', stray)).toThrow(/a page/);
  }
});
