import type { ChannelConfig, ChannelCredentials, ChannelType } from '@gatehouse/contract/channel-instances';
import type { EgressRequest, EgressResponse } from '@gatehouse/egress/egress';
import type { Delivery } from '../signatures/schemes.ts';
import type { ReplyStyle } from '../conversations/reply-style.ts';

/** A message as its provider sends it. */
export interface InboundMessage {
  /** The provider's id of the message, as it is shown. */
  externalId: string;
  /** The provider's ids of the event and of the message, by which a duplicate is known. */
  keys: readonly string[];
  conversation: { externalId: string; group: boolean };
  sender: { id: string; name: string | null };
  /** Null if it has only what can't be read, such as an image. */
  text: string | null;
  /** Whether it has an attachment, which can't be read. */
  hasAttachment: boolean;
  /** A decimal number by which the provider orders messages; null if it has none. */
  position: string | null;
}

/** The meaning of a genuine request. */
export type Inbound =
  /**
   * `account`: whom it was sent to, where one URL takes the messages of several. `sentAtMs`: when, by the provider's
   * clock, where a signature is accepted for longer than a deleted channel's messages are known.
   */
  | { kind: 'message'; message: InboundMessage; account?: string; sentAtMs?: number }
  /** An event that needs no answer, such as the bot's own message. */
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
  /** The provider's ids of the messages that are answered. */
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
  | { kind: 'sent'; externalId: string | null }
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
  /** The token that a provider with consents has given; null before. */
  accessToken: string | null;
}

/** The ways out: to URLs of tenants, and to the providers that the operator names. */
export interface Ways {
  tenant: (request: Omit<EgressRequest, 'tenantId'>) => Promise<EgressResponse>;
  provider: (request: Omit<EgressRequest, 'tenantId'>) => Promise<EgressResponse>;
  /** To the same providers, for what may be lost. */
  typing: (request: Omit<EgressRequest, 'tenantId'>) => Promise<EgressResponse>;
}

/** The ways out of a tenant, which has a share of each; null for the platform. */
export type WaysOf = (tenantId: string | null) => Ways;

/** The parts that each type of channel has of its own. */
export interface ChannelAdapter<Type extends ChannelType> {
  /** Whether a request is from the provider. */
  verify: (request: Delivery, channel: OpenChannel<Type>, nowS: number) => boolean;
  /**
   * Reads a genuine request. `body` is any JSON. Events that are no message are ignored, also those that the provider may
   * add one day. Throws a 400 for what is no event of the provider at all.
   */
  parse: (body: unknown) => Inbound;
  /** Whether only a consent in a browser connects the channel. */
  needsConsent?: true;
  /** The status that acknowledges a new message. */
  acceptedStatus: 200 | 202;
  /** How answers are written, and how long one message may be. */
  style: ReplyStyle;
  maxChars: number;
  send: (reply: Reply, channel: OpenChannel<Type>, ways: Ways) => Promise<Sent>;
  /** Shows that an answer is being written, where the provider can. */
  typing?: (conversation: string, channel: OpenChannel<Type>, ways: Ways) => Promise<void>;
  /** Whether the provider accepts the credentials; without it there is nothing to ask. */
  check?: (channel: OpenChannel<Type>, ways: Ways) => Promise<Checked>;
}

/** The provider's verdict on the credentials. */
export type Checked =
  { kind: 'connected' } | { kind: 'unauthorized'; reason: string } | { kind: 'retry'; reason: string };
