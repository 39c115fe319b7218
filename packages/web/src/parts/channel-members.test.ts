import { describe, expect, it } from '@jest/globals';
import { patchChannelInstance } from '@gatehouse/contract/channel-instances';
import { configChanges, members } from './channel-members.ts';

const { config } = members.zalo_oa;
const before = { app_id: '12', oa_id: '34' };

describe('the config of a channel', () => {
  it.each([
    ['nothing', before, {}],
    ['a member', { ...before, app_id: '13' }, { app_id: '13' }],
    ['a member to nothing', { ...before, oa_id: '' }, { oa_id: null }],
  ])('changes %s', (_, texts, changes) => {
    const changed = configChanges(config, before, texts);
    expect(changed).toEqual(changes);
    expect(patchChannelInstance.parse({ config: changed }).config).toEqual(changes);
  });
});
