import type { ChannelType } from '@gatehouse/contract/channel-instances';
import type { Hops } from '../deliveries/hops.ts';
import type { ChannelAdapter } from './adapter.ts';
import { generic } from './providers/generic.ts';
import { slack } from './providers/slack.ts';
import { telegram } from './providers/telegram.ts';
import { zalo } from './providers/zalo.ts';

/** An adapter for each type of channel. */
export type ChannelAdapters = { readonly [Type in ChannelType]: ChannelAdapter<Type> };

/** The URLs of the operator's providers. */
export interface ProviderUrls {
  telegram: string;
  slack: string;
  zalo: string;
}

export function channelAdapters(urls: ProviderUrls, hops: Hops): ChannelAdapters {
  return {
    generic: generic(hops),
    telegram: telegram(urls.telegram),
    slack: slack(urls.slack),
    zalo_oa: zalo(urls.zalo),
  };
}

/** The adapter of a type, for a channel of that type. */
export function adapterOf(adapters: ChannelAdapters, type: ChannelType): ChannelAdapter<ChannelType> {
  return adapters[type];
}
