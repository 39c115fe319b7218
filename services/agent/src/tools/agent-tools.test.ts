import { expect, it } from '@jest/globals';
import { isOffered } from './agent-tools.ts';
import { connectTool } from './offered-tools.ts';

const server = { name: 'mail' };
const tool = (name: string) => ({ ...connectTool, name });

it.each([
  ['mail', ['read', 'other', 'connect tool']],
  ['mail/read', ['read', 'connect tool']],
  ['mail/none', ['connect tool']],
  ['mailer', []],
  ['other', []],
  ['other/mail', []],
])('an agent that names %s is offered of mail: %s', (ref, offered) => {
  const tools = { read: tool('read'), other: tool('other'), 'connect tool': connectTool };
  const found = Object.entries(tools).filter(([, each]) => isOffered([ref], server, each));
  expect(found.map(([name]) => name)).toEqual(offered);
});
