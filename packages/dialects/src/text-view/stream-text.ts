import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import { createHash, type Hash } from 'node:crypto';
import { ArgumentTexts, type ArgumentText } from './argument-texts.ts';
import { TextChannel, type ChannelHead } from './text-channel.ts';
import type { TextChange } from './text-source.ts';

/** A longer number or word in arguments gets no quotes around its changes, so its frames are not held for its end. */
const maxBareChars = 64;

/** A string of a frame. */
export interface FrameString {
  readonly value: string;
}

/** A part of a text in a string of a frame. */
export class Segment {
  /** The text; null for the beginning of an escape, until a later frame ends it. */
  channel: TextChannel | null;
  /** The place in the text. */
  start: number;
  value: string;
  /** The string of the frame, and the place in it. */
  readonly source: FrameString;
  readonly from: number;
  readonly until: number;
  /** Whether another segment has the same part, in this frame or in another one. */
  readonly isRepeat: boolean;
  /** Whether the string has JSON. */
  readonly isEscaped: boolean;
  /** Whether the text ends here. */
  readonly isEnd: boolean;
  /** Whether it ends an escape begun in another frame, where the change of this character is written. */
  isRest = false;

  constructor(
    channel: TextChannel | null,
    { source, from, until }: Pick<Segment, 'source' | 'from' | 'until'>,
    {
      start = 0,
      value = '',
      isRepeat = false,
      isEscaped = false,
      isEnd = false,
    }: Partial<Pick<Segment, 'start' | 'value' | 'isRepeat' | 'isEscaped' | 'isEnd'>>,
  ) {
    this.channel = channel;
    this.source = source;
    this.from = from;
    this.until = until;
    this.start = start;
    this.value = value;
    this.isRepeat = isRepeat;
    this.isEscaped = isEscaped;
    this.isEnd = isEnd;
  }

  get end(): number {
    return this.start + this.value.length;
  }

  /** Whether what is written for it depends on later frames, whatever is decided about its text. */
  get isOpen(): boolean {
    const { channel } = this;
    if (channel === null) return true;
    return channel.isBare && !channel.isEnded && channel.length <= maxBareChars;
  }

  /** The changes of the string. */
  *changes(): Generator<TextChange> {
    const { channel, start, end, from, until } = this;
    if (channel?.isChanged !== true) return;
    const isQuoted = channel.isBare && channel.length <= maxBareChars;
    if (isQuoted && start === 0 && !this.isEnd) yield { from, until: from, text: '"' };
    // The source of an escape is longer than its character.
    const isEscape = until - from !== end - start;
    for (const change of channel.changesIn(start, end)) {
      const text = change.from < start || this.isRest ? '' : change.text;
      yield {
        from: isEscape ? from : from + Math.max(0, change.from - start),
        until: isEscape ? until : from + Math.min(change.until, end) - start,
        text: this.isEscaped ? JSON.stringify(text).slice(1, -1) : text,
      };
    }
    if (isQuoted && this.isEnd) yield { from, until: from, text: '"' };
  }
}

/** A text of a stream, with its pieces in several frames; of arguments in JSON, all texts in them. */
export class StreamText {
  readonly #head: ChannelHead;
  readonly #arguments: ArgumentTexts | null;
  readonly #channels = new Map<number, TextChannel>();
  readonly #digest = new RunningDigest();
  /** The beginnings of the escape under way. */
  #open: Segment[] = [];
  #isEnded = false;

  constructor(head: ChannelHead, isJson = false) {
    this.#head = head;
    this.#arguments = isJson ? new ArgumentTexts() : null;
  }

  get kind(): GuardedText {
    return this.#head.kind;
  }

  /** The text itself; undefined for arguments. */
  get channel(): TextChannel | undefined {
    return this.#arguments === null ? this.#channels.get(0) : undefined;
  }

  /** Whether its pieces so far are a text. */
  isSame(text: string): boolean {
    return this.#digest.isOf(text);
  }

  /** Adds the next piece. */
  add(source: FrameString): Segment[] {
    const { value } = source;
    this.#digest.add(value);
    if (this.#arguments !== null) return this.#addArguments(source, this.#arguments);
    const channel = this.#channels.get(0) ?? this.#begin(0, new TextChannel(this.#head));
    const start = channel.length;
    channel.length += value.length;
    return [new Segment(channel, { source, from: 0, until: value.length }, { start, value })];
  }

  /** The segments of all its pieces in one string. */
  repeated(source: FrameString): Segment[] {
    const { value } = source;
    if (this.#arguments === null) {
      const place = { source, from: 0, until: value.length };
      return [new Segment(this.#channels.get(0) ?? null, place, { value, isRepeat: true })];
    }
    const reader = new ArgumentTexts();
    let [index, start] = [-1, 0];
    return reader.read(value).flatMap((text) => {
      start = text.index === index ? start : 0;
      index = text.index;
      const channel = this.#channels.get(index);
      const segment = segmentOf(channel ?? null, { source, text, start, reader, isRepeat: true });
      start = segment.end;
      return channel === undefined ? [] : [segment];
    });
  }

  /** Nothing more of it arrives. Returns the texts ended by it. */
  end(): TextChannel[] {
    if (this.#isEnded) return [];
    this.#isEnded = true;
    const ended = [...this.#channels.values()].filter((channel) => !channel.isEnded);
    for (const channel of ended) channel.isEnded = true;
    for (const channel of this.#channels.values()) channel.isComplete = true;
    return ended;
  }

  #begin(index: number, channel: TextChannel): TextChannel {
    this.#channels.set(index, channel);
    return channel;
  }

  #addArguments(source: FrameString, reader: ArgumentTexts): Segment[] {
    const texts = reader.read(source.value);
    const segments = texts.map((text) => {
      const channel = this.#channelOf(text);
      const segment = segmentOf(channel, { source, text, start: channel.length, reader });
      channel.length += text.value.length;
      channel.isEnded ||= text.isEnd;
      return segment;
    });
    const [first] = segments;
    if (first !== undefined) this.#settle(first);
    if (reader.openFrom !== null) {
      const place = { source, from: reader.openFrom, until: source.value.length };
      const segment = new Segment(null, place, { isRepeat: true, isEscaped: true });
      this.#open.push(segment);
      segments.push(segment);
    }
    return segments;
  }

  /** The first segment of a piece ends the escape under way. */
  #settle(rest: Segment): void {
    for (const [index, segment] of this.#open.entries()) {
      segment.channel = rest.channel;
      segment.start = rest.start;
      segment.value = rest.value;
      segment.isRest = index > 0;
      rest.isRest = true;
    }
    this.#open = [];
  }

  #channelOf({ index, type }: ArgumentText): TextChannel {
    const isFixed = this.#head.isFixed || type === 'name';
    const { kind, param, choice } = this.#head;
    return (
      this.#channels.get(index) ??
      this.#begin(index, new TextChannel({ kind, param, isFixed, choice }, type === 'bare'))
    );
  }
}

interface ArgumentSegment {
  source: FrameString;
  text: ArgumentText;
  start: number;
  reader: ArgumentTexts;
  isRepeat?: boolean;
}

function segmentOf(
  channel: TextChannel | null,
  { source, text: { from, until, value, isEnd }, start, reader, isRepeat = false }: ArgumentSegment,
): Segment {
  const { isJson: isEscaped } = reader;
  return new Segment(channel, { source, from, until }, { start, value, isRepeat, isEscaped, isEnd });
}

/** Longer texts are hashed. */
const maxTextChars = 4_096;

/** Recognises the text of all pieces without a copy of it. */
class RunningDigest {
  #length = 0;
  #text = '';
  #hash: Hash | null = null;

  add(piece: string): void {
    this.#length += piece.length;
    this.#text += piece;
    if (this.#text.length <= maxTextChars) return;
    this.#hash ??= createHash('sha256');
    this.#hash.update(this.#text, 'utf16le');
    this.#text = '';
  }

  isOf(text: string): boolean {
    if (text.length !== this.#length) return false;
    if (this.#hash === null) return text === this.#text;
    const digest = createHash('sha256').update(text, 'utf16le').digest();
    return this.#hash.copy().update(this.#text, 'utf16le').digest().equals(digest);
  }
}
