import { describe, expect, it } from '@jest/globals';
import { resourcesIn, resourceText } from './transferred.ts';

describe('the resources of a transfer', () => {
  it('are read from their texts, and others are left out', () => {
    const texts = [resourceText('agent', 'a'), '  mcp_server   b ', 'batch c', 'agent', ''];
    expect(resourcesIn(texts)).toEqual([
      { type: 'agent', id: 'a' },
      { type: 'mcp_server', id: 'b' },
    ]);
  });
});
