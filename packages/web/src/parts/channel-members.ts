import type { ChannelType } from '@gatehouse/contract/channel-instances';
import { textOrNull } from '../format/changes.ts';

export const types: Record<ChannelType, string> = {
  generic: 'Generic webhook',
  telegram: 'Telegram',
  slack: 'Slack',
  zalo_oa: 'Zalo Official Account',
};

interface ChannelField {
  label: string;
  hint?: string;
  isOptional?: true;
}
export type Members = Readonly<Record<string, ChannelField>>;

/** The members of each type. */
export const members: Record<ChannelType, { config: Members; credentials: Members }> = {
  generic: {
    config: { callback_url: { label: 'Callback URL' } },
    credentials: { secret: { label: 'Secret', hint: 'Empty: generated', isOptional: true } },
  },
  telegram: {
    config: {},
    credentials: {
      bot_token: { label: 'Bot token', hint: 'From @BotFather' },
      secret_token: { label: 'Secret token', hint: 'The secret_token of setWebhook' },
    },
  },
  slack: {
    config: {},
    credentials: {
      bot_token: { label: 'Bot token', hint: 'xoxb-…' },
      signing_secret: { label: 'Signing secret', hint: 'Under Basic Information of the app' },
    },
  },
  zalo_oa: {
    config: {
      app_id: { label: 'App ID' },
      oa_id: { label: 'OA ID', hint: 'Empty: set by the first consent', isOptional: true },
    },
    credentials: {
      app_secret: { label: 'App secret key' },
      oa_secret: { label: 'OA secret key', hint: 'Under Webhook' },
    },
  },
};

/** Texts of members by their names. */
export type MemberTexts = Readonly<Record<string, string>>;

/** The config of a channel as texts. */
export function memberTexts(config: Readonly<Record<string, unknown>>): MemberTexts {
  const texts = Object.entries(config).filter(([, text]) => typeof text === 'string');
  return Object.fromEntries(texts.map(([name, text]) => [name, String(text)]));
}

/** The members with a text. */
export function filled(fields: Members, texts: MemberTexts): Record<string, string> {
  return Object.fromEntries(
    Object.keys(fields).flatMap((member) => {
      const text = texts[member] ?? '';
      return text === '' ? [] : [[member, text]];
    }),
  );
}

/** The changed members of a config: null for an emptied one. */
export function configChanges(
  fields: Members,
  before: MemberTexts,
  texts: MemberTexts,
): Record<string, string | null> {
  const changed = Object.keys(fields).filter((member) => (texts[member] ?? '') !== (before[member] ?? ''));
  return Object.fromEntries(changed.map((member) => [member, textOrNull(texts[member] ?? '')]));
}
