import { expect, it } from '@jest/globals';
import type { McpServer } from '../mcp/mcp-server.ts';
import type { McpTool } from '../mcp/mcp-tool.ts';
import { showServer } from './server-view.ts';

const server: McpServer = {
  ...{
    id: 'id',
    tenantId: 't',
    name: 'mint',
    url: 'https://mcp.example.com',
    transport: 'auto',
    timeoutMs: 1,
  },
  ...{
    auth: { type: 'none' },
    secrets: null,
    enabled: true,
    trust: 'pin',
    status: 'connected',
    statusReason: null,
    ...{ clientIssuer: null, otherIssuer: null },
  },
  ...{ connectionId: 'c', protocolVersion: null, toolsRevision: 'r', toolsUpdatedAt: null },
  ...{
    createdAt: new Date(0),
    updatedAt: new Date(0),
    toolFilter: { allow: [], deny: [] },
    tools: [],
    accepted: [],
  },
};

it('a list of servers shows how tools were judged, without reading 4 MiB of schemas again', () => {
  let read = 0;
  const inputSchema = {
    get type() {
      read += 1;
      return 'string';
    },
  };
  const tool: McpTool = {
    name: 'a',
    description: '',
    inputSchema,
    readOnly: false,
    idempotent: false,
    digest: 'd',
  };
  const shown = (unusable: Partial<McpTool>) =>
    showServer({ ...server, tools: [{ ...tool, ...unusable }] }).tools[0];
  expect(shown({ unusable: null })).toMatchObject({ usable: true, reason: null });
  expect(shown({ unusable: 'No.' })).toMatchObject({ usable: false, reason: 'No.' });
  expect(read).toBe(0);
  // A list from before tools were judged.
  expect(shown({})).toMatchObject({ usable: false, reason: 'input_schema is not that of an object.' });
});
