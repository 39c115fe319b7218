import type {
  ChannelConfig,
  ChannelCredentials,
  ChannelType,
  PatchChannelInstance,
} from '@gatehouse/contract/channel-instances';
import type { EgressRequest, EgressResponse } from '@gatehouse/egress/egress';
import type { VerifiableRequest } from '../signatures/schemes.ts';

/** A message that another one is about. */
export interface QuotedMessage {
  /** `replyToBot`: the bot has written it. `page`: the preview of a link. */
  kind: 'reply' | 'replyToBot' | 'forward' | 'page';
  /** The name of its author; null if it is unknown. */
  by: string | null;
  text: string;
}

/** A message as its provider sends it. */
export interface InboundMessage {
  /** The provider's id of the message, as it is shown. */
  externalId: string;
  /** The provider's ids of the event and of the message, by which a duplicate is known. */
  keys: readonly string[];
  conversation: { externalId: string; group: boolean };
  sender: { id: string; name: string | null };
  /** As its sender wrote it. Null if it has only unreadable content, like an image, or quotes. */
  text: string | null;
  quoted: readonly QuotedMessage[];
  /** Whether it has an attachment, which can't be read. */
  hasAttachment: boolean;
  /** A decimal number by which the provider orders messages; null without one. */
  position: string | null;
}

/** The meaning of a genuine request. */
export type Inbound =
  /**
   * `account`: whom it was sent to, where one URL takes the messages of several. `sentAtMs`: when, by the provider's
   * clock, where a signature is accepted for longer than a deleted channel's messages are known.
   */
  | { kind: 'message'; message: InboundMessage; account?: string; sentAtMs?: number }
  /** Needs no answer, like the bot's own message. */
  | { kind: 'ignored' }
  /** A conversation of a group has another id from now on. */
  | Moved
  /** Slack's check of the URL. */
  | { kind: 'challenge'; challenge: string };

/** The provider's ids of a group's conversation, which has got another one. */
export interface Moved {
  kind: 'moved';
  from: string;
  to: string;
}

/** One message to be sent. */
export interface Reply {
  /** Stays the same over attempts. */
  id: string;
  /** The provider's id of the conversation. */
  conversation: string;
  /** The provider's ids of the answered messages. */
  inReplyTo: readonly string[];
  /** How often what it answers was sent on by a gateway. */
  hops: number;
  /** In the style of the adapter. */
  text: string;
  /** Without markup, for a provider that rejects the other. */
  plainText: string;
}

/** The outcome of an attempt to send. */
export type Sent =
  | {
      kind: 'sent';
      externalId: string | null;
      /** The provider's id of the conversation, where the message has opened one with the named person. */
      opened?: string;
    }
  /** A later attempt may succeed. */
  | { kind: 'retry'; reason: string }
  /** The provider wants nothing in this conversation for a time. */
  | { kind: 'paused'; afterS: number }
  /** It must be sent to another conversation. */
  | Moved
  /** The provider never takes this message. */
  | { kind: 'rejected'; reason: string }
  /** The credentials are no longer valid. */
  | { kind: 'unauthorized'; reason: string };

/** A channel with what its provider needs to know. */
export interface OpenChannel<Type extends ChannelType = ChannelType> {
  id: string;
  config: ChannelConfig<Type>;
  credentials: ChannelCredentials<Type>;
  /** Those before the last change, while they sign replies too; null otherwise. */
  previousCredentials: ChannelCredentials<Type> | null;
  /** The provider's token after a consent; null before. */
  accessToken: string | null;
}

/** Egresses: to URLs of tenants, and to the providers named by the operator. */
export interface Egresses {
  tenant: (request: Omit<EgressRequest, 'tenantId'>) => Promise<EgressResponse>;
  provider: (request: Omit<EgressRequest, 'tenantId'>) => Promise<EgressResponse>;
  /** To the same providers, for what may be lost. */
  typing: (request: Omit<EgressRequest, 'tenantId'>) => Promise<EgressResponse>;
}

/** The egresses of a tenant, which has a share of each; null for the platform. */
export type EgressesOf = (tenantId: string | null) => Egresses;

/** How a provider's messages are written. `markdown` passes answers on, but for what `safeMarkdown` replaces. */
export type ReplyStyle = 'markdown' | 'telegram' | 'slack' | 'plain';

/** The parts that each type of channel has of its own. */
export interface ChannelAdapter<Type extends ChannelType> {
  /** Whether a request is from the provider; computes `hmacs` HMACs over the body, or hashes of it. */
  verify: (request: VerifiableRequest, channel: OpenChannel<Type>, nowS: number) => boolean;
  /**
   * Reads a genuine request. `body` is any JSON. Events other than messages are ignored, also future ones of the
   * provider. Throws a 400 for anything but an event of the provider.
   */
  parse: (body: unknown) => Inbound;
  hmacs: 0 | 1;
  /** The credentials, with the gateway's own ones. Creation shows all of them then, and they sign replies too. */
  completed?: (credentials: ChannelCredentials<Type>) => ChannelCredentials<Type>;
  /** A credential unknown to all senders. By default 32 random bytes in base64url. */
  unusable?: () => string;
  /** The tenant's URL for replies. */
  callbackUrlOf?: (config: NonNullable<PatchChannelInstance['config']>) => string | undefined;
  /** For providers with one URL per app for the messages of several accounts. */
  accounts?: ChannelAccounts<Type>;
  /** Whether only a consent in a browser connects it. */
  needsConsent?: true;
  /** The status by which a new message is acknowledged. */
  acceptedStatus: 200 | 202;
  /** How answers are written, and how long one message may be. */
  style: ReplyStyle;
  maxChars: number;
  /** Whether a conversation with this id, in which nothing was written so far, is a group's; false if it is left out. */
  isGroup?: (conversation: string) => boolean;
  /** The message with which a conversation begins, as the first of a thread, and its conversation; null for others. */
  opening?: (conversation: string) => { conversation: string; message: string } | null;
  send: (reply: Reply, channel: OpenChannel<Type>, egresses: Egresses) => Promise<Sent>;
  /** Shows an answer as being written, where the provider can. */
  typing?: (conversation: string, channel: OpenChannel<Type>, egresses: Egresses) => Promise<void>;
  /** Whether the provider accepts the credentials; without it there is nothing to ask. */
  check?: (channel: OpenChannel<Type>, egresses: Egresses) => Promise<Checked>;
}

/** The provider's verdict on the credentials. */
export type Checked =
  | { kind: 'connected' }
  | { kind: 'unauthorized'; reason: string }
  // The provider failed, or could not be reached.
  | { kind: 'retry'; reason: string };

/** The accounts of an app. */
export interface ChannelAccounts<Type extends ChannelType> {
  /** The app of a channel, and its account; null before a consent has named one. */
  fieldsOf: (config: ChannelConfig<Type>) => { app: string; account: string | null };
  /** The config of a channel of the same app for an account. */
  withAccount: (config: ChannelConfig<Type>, account: string) => ChannelConfig<Type>;
}
