import type { ChannelType } from '@gatehouse/contract/channel-instances';
import type { Hops } from '../deliveries/hops.ts';
import type { ChannelAdapter } from './adapter.ts';
import type { ChannelState } from './channel.ts';
import { generic } from './providers/generic.ts';
import { slack, slackSettings } from './providers/slack.ts';
import { telegram, telegramSettings } from './providers/telegram.ts';
import { zaloSettings } from './providers/zalo/zalo-oauth.ts';
import { zalo } from './providers/zalo/zalo.ts';

/** An adapter for each type of channel. */
export type ChannelAdapters = { readonly [Type in ChannelType]: ChannelAdapter<Type> };

/** The settings of providers: URLs. */
export const providerSettings = { ...telegramSettings, ...slackSettings, ...zaloSettings };
export type ProviderUrls = Record<keyof typeof providerSettings, string>;

export function channelAdapters(urls: ProviderUrls, hops: Hops): ChannelAdapters {
  return {
    generic: generic(hops),
    telegram: telegram(urls),
    slack: slack(urls),
    zalo_oa: zalo(urls),
  };
}

/** The hosts in the operator's settings. */
export function providerHosts(urls: ProviderUrls): string[] {
  const names = Object.keys(providerSettings) as (keyof ProviderUrls)[];
  return names.map((name) => new URL(urls[name]).hostname);
}

/** The adapter of a type, for a channel of the same type. */
export function adapterOf(adapters: ChannelAdapters, type: ChannelType): ChannelAdapter<ChannelType> {
  return adapters[type];
}

/** The status of a channel with new credentials. */
export function firstStatus(adapters: ChannelAdapters, type: ChannelType): ChannelState['status'] {
  const { needsConsent, check } = adapterOf(adapters, type);
  return needsConsent === true || check !== undefined ? 'pending' : 'connected';
}
