import { describe, expect, it } from '@jest/globals';
import { chosenWithNeeds, resourcesIn, resourceText } from './transferred.ts';

describe('the resources of a transfer', () => {
  it('are read from their texts', () => {
    expect(resourcesIn([resourceText('agent', 'a'), '  mcp_server   b ', ''])).toEqual([
      { type: 'agent', id: 'a' },
      { type: 'mcp_server', id: 'b' },
    ]);
  });

  it.each(['batch c', 'agent', 'agent a b'])(
    'are not left out where a line is %j, which is named',
    (line) => {
      expect(() => resourcesIn(['agent a', line])).toThrow(line);
    },
  );

  it('bring what they need, and what that needs', () => {
    const needs = new Map([
      ['channel_instance c', ['agent a']],
      ['agent a', ['mcp_server s', 'mcp_server t']],
    ]);
    const all = ['agent b', 'channel_instance c', 'agent a', 'mcp_server s', 'mcp_server t'];
    expect(chosenWithNeeds(['agent b'], ['agent b', 'channel_instance c'], needs)).toEqual(all);
    expect(chosenWithNeeds(all, all.slice(0, 4), needs)).toEqual(all.slice(0, 4));
  });
});
