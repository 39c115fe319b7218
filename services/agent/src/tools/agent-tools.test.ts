import { expect, it } from '@jest/globals';
import { connectTool } from '../mcp/mcp-tool.ts';
import { isOffered } from './agent-tools.ts';

const server = { name: 'mail', toolFilter: { allow: ['send', 'read'], deny: ['send'] } };
const tool = (name: string) => ({ ...connectTool, name });

it.each([
  ['mail', ['read', 'connect tool']],
  ['mail/read', ['read', 'connect tool']],
  ['mail/other', ['connect tool']],
  ['mailer', []],
  ['other', []],
  ['other/mail', []],
])('an agent that names %s is offered of mail: %s', (ref, offered) => {
  const tools = { read: tool('read'), send: tool('send'), other: tool('other'), 'connect tool': connectTool };
  const found = Object.entries(tools).filter(([, each]) => isOffered([ref], server, each));
  expect(found.map(([name]) => name)).toEqual(offered);
});
