import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { indexOrEnd, openBrace, skipSpace } from '@gatehouse/kit/json-bytes';
import { maxFrameChars, maxStreamTexts } from '../bounds.ts';
import { dataOf, frameData } from '../wire/sse-frames.ts';
import { FrameShape } from './frame-shape.ts';
import { SourceText, type UnreadablePlace } from './source-text.ts';
import { StreamText, type FrameString, type Segment } from './stream-text.ts';
import type { ChannelHead, TextChannel } from './text-channel.ts';
import type { TextChange } from './text-source.ts';
import type { FrameRules, TextPlace } from './text-rules.ts';
import { TextView, type EarlierChanges } from './text-view.ts';

/** A piece of a text in a frame. */
export interface FramePiece {
  readonly channel: TextChannel;
  readonly value: string;
}

/**
 * Reads the texts in the frames of one stream, in their order. Several frames have pieces of one text, and some frames repeat
 * texts of others: what replaces a part of a text is written in all of them, as they leave.
 */
export class FrameReader implements EarlierChanges {
  readonly rules: FrameRules;
  readonly #texts = new Map<string, StreamText>();
  readonly #shapes: FrameShape[] = [];

  constructor(rules: FrameRules) {
    this.rules = rules;
  }

  /** Reads the next frame: valid JSON, a comment, or the mark of an end. Throws for too many texts. */
  read(frame: Buffer): FrameTexts {
    for (const shape of this.#shapes) {
      const pieces = shape.piecesIn(frame);
      if (pieces !== null) return this.#readAlike(frame, shape, pieces);
    }
    const body = bodyOf(frame);
    if (body === null) return new FrameTexts(frame, { segments: [], ends: [], stream: this });
    const view = atOnce(TextView.read(body.json, this.rules));
    const chars = view.texts.reduce((sum, { value }) => sum + value.length, 0);
    if (chars > maxFrameChars) throw new Error('a frame of the stream has too much text to be checked');
    const ends: TextChannel[] = [];
    const pieces: NextPiece[] = [];
    const segments = view.texts.flatMap((source) => this.#segmentsOf(source, ends, pieces));
    for (const { isEnd, isRepeat, channel } of segments)
      if (isEnd && !isRepeat && channel !== null) ends.push(channel);
    const { length } = ends;
    for (const place of view.places) this.#endAt(place, ends);
    if (length === ends.length) this.#noteShape({ frame, body, view }, pieces);
    return new FrameTexts(frame, { segments, ends, stream: this }, { ...body, view });
  }

  #readAlike(frame: Buffer, shape: FrameShape, pieces: readonly string[]): FrameTexts {
    const segments: Segment[] = [];
    for (const [index, value] of pieces.entries())
      if (value !== '') segments.push(...(shape.texts[index]?.add({ value }) ?? []));
    const ends = segments.flatMap(({ isEnd, channel }) => (isEnd && channel !== null ? [channel] : []));
    return new FrameTexts(frame, { segments, ends, stream: this });
  }

  /** Notes the shape of a frame with nothing but the next pieces of texts. */
  #noteShape(
    { frame, body, view }: { frame: Buffer; body: Body; view: TextView },
    pieces: readonly NextPiece[],
  ): void {
    const names = view.texts.filter(({ isName }) => isName).length;
    const isPlain = pieces.length > 0 && pieces.length + names === view.texts.length;
    const isBound = view.isBound || view.unreadable.length > 0;
    if (!isPlain || isBound || body.from === null || frame.length > maxShapeBytes) return;
    this.#shapes.unshift(new FrameShape({ frame, from: body.from }, pieces, this.rules));
    this.#shapes.splice(maxShapes);
  }

  /** The text of a key. */
  channel(key: string): TextChannel | undefined {
    return this.#texts.get(key)?.channel;
  }

  /** Whether the reasoning of a signature has changed. */
  isUnsigned(signature: TextPlace): boolean {
    return this.rules.signedKeys(signature).some((key) => this.channel(key)?.isChanged === true);
  }

  /** Ends all texts, as the stream does. */
  end(): TextChannel[] {
    return [...this.#texts.values()].flatMap((text) => text.end());
  }

  #segmentsOf(source: SourceText, ends: TextChannel[], pieces: NextPiece[]): Segment[] {
    const { place, member, value } = source;
    const key = place.keyOf(member);
    const isNamed = typeof member === 'string' && !source.isName && place.reading === null;
    const channelPlace = isNamed ? this.rules.channelOf({ place, member, key }) : { key, isApart: true };
    const { isWhole = false, isApart = false, isJson = false } = channelPlace;
    const repeated = channelPlace.repeated === undefined ? undefined : this.#texts.get(channelPlace.repeated);
    if (repeated?.isSame(value) === true) return repeated.repeated(source);
    const known = isApart ? undefined : this.#texts.get(channelPlace.key);
    if (isWhole && known !== undefined) {
      const isSame = known.isSame(value);
      ends.push(...known.end());
      if (isSame) return known.repeated(source);
    }
    const kind = this.#texts.get(channelPlace.kindKey ?? '')?.kind ?? source.kind;
    const isNew = known === undefined || isWhole;
    const text = isNew ? new StreamText({ ...headOf(source, this.rules), kind }, isJson) : known;
    if (isNew && known === undefined && !isApart) this.#note(channelPlace.key, text);
    const segments = text.add(source);
    if (isApart || isWhole) ends.push(...text.end());
    else pieces.push({ source, text });
    return segments;
  }

  #note(key: string, text: StreamText): void {
    if (this.#texts.size >= maxStreamTexts) throw new Error('the answer has too many texts');
    this.#texts.set(key, text);
  }

  #endAt(place: TextPlace, ends: TextChannel[]): void {
    const begin = this.rules.endedKeys(place);
    if (begin === null) return;
    for (const [key, text] of this.#texts) if (key.startsWith(begin)) ends.push(...text.end());
  }
}

/** A string of a frame with the next piece of a text. */
interface NextPiece {
  source: SourceText;
  text: StreamText;
}

/** So many shapes of frames are known at a time, of frames up to this size. */
const maxShapes = 4;
const maxShapeBytes = 16 * 1024;

/** The texts of a frame. It leaves in the order of its stream, once everything in it is decided. */
export class FrameTexts {
  readonly unreadable: readonly UnreadablePlace[];
  /** The texts ended by this frame. */
  readonly ends: readonly TextChannel[];
  readonly #frame: Buffer;
  readonly #segments: readonly Segment[];
  readonly #stream: FrameReader;
  readonly #document: FrameDocument | null;

  /** `document`: absent for a frame without one, and where it is read once a text changes. */
  constructor(
    frame: Buffer,
    {
      segments,
      ends,
      stream,
    }: { segments: readonly Segment[]; ends: readonly TextChannel[]; stream: FrameReader },
    document: FrameDocument | null = null,
  ) {
    this.#frame = frame;
    this.#segments = segments;
    this.#stream = stream;
    this.#document = document;
    this.ends = ends;
    this.unreadable = document?.view.unreadable ?? [];
  }

  /** New pieces of texts, without what repeats others. */
  get pieces(): FramePiece[] {
    const pieces: FramePiece[] = [];
    for (const { channel, value, isRepeat } of this.#segments)
      if (!isRepeat && channel !== null && value !== '') pieces.push({ channel, value });
    return pieces;
  }

  /** Whether it depends on later frames, whatever is decided: it ends within an escape or a number of arguments. */
  get isOpen(): boolean {
    return this.#segments.some(({ isOpen }) => isOpen);
  }

  /** How much of each text must be decided before the frame leaves. */
  get reach(): ReadonlyMap<TextChannel, number> {
    const reach = new Map<TextChannel, number>();
    for (const { channel, end } of this.#segments)
      if (channel !== null) reach.set(channel, Math.max(end, reach.get(channel) ?? 0));
    return reach;
  }

  /** The frame with all changes of its texts; itself without one. Must be called once, as it leaves. */
  rewritten(): Buffer {
    const changes: { source: FrameString; change: TextChange }[] = [];
    for (const segment of this.#segments) {
      const { channel, start, value, source, isRepeat, isEscaped } = segment;
      if (!isRepeat && !isEscaped) channel?.leave(start, value);
      for (const change of segment.changes()) changes.push({ source, change });
    }
    if (changes.length === 0 && this.#document?.view.isBound !== true) return this.#frame;
    const document = this.#document ?? documentOf(this.#frame, this.#stream.rules);
    return document === null ? this.#frame : this.#written(document, changes);
  }

  #written(
    { before, json, after, view }: FrameDocument,
    changes: readonly { source: FrameString; change: TextChange }[],
  ): Buffer {
    // A document read only now has the strings in the same order.
    const strings = [...new Set(this.#segments.map(({ source }) => source))];
    const texts = view.texts.filter(({ isName }) => !isName);
    const edits = changes.flatMap(({ source, change }) => {
      const viewText = source instanceof SourceText ? source : texts[strings.indexOf(source)];
      return viewText === undefined ? [] : [{ viewText, ...change }];
    });
    const written = atOnce(view.rewritten(edits, { earlier: this.#stream }));
    if (edits.length === 0 && written.all[0] === json) return this.#frame;
    return Buffer.concat([before, ...written.all, after]);
  }
}

interface Body {
  /** The place of the JSON in the frame; null if it stands in several lines. */
  from: number | null;
  before: Buffer;
  /** An object. */
  json: Buffer;
  after: Buffer;
}

type FrameDocument = Body & { view: TextView };

function documentOf(frame: Buffer, rules: FrameRules): FrameDocument | null {
  const body = bodyOf(frame);
  return body === null ? null : { ...body, view: atOnce(TextView.read(body.json, rules)) };
}

const lineFeed = 0x0a;

/** The JSON in a frame; null for a comment and other data. Data in several lines is written in one. */
function bodyOf(frame: Buffer): Body | null {
  const from = dataOf(frame);
  if (from !== null) {
    const end = indexOrEnd(frame, lineFeed, from);
    const json = frame.subarray(from, end);
    if (json[skipSpace(json, 0)] !== openBrace) return null;
    return { from, before: frame.subarray(0, from), json, after: frame.subarray(end) };
  }
  const data = frameData(frame);
  if (data?.trimStart().startsWith('{') !== true) return null;
  const lines = frame.toString().split(/\r\n|\n|\r/);
  const others = lines.filter((line) => line !== '' && !line.startsWith('data:'));
  return {
    from,
    before: Buffer.from([...others, 'data: '].join('\n')),
    json: Buffer.from(data.replaceAll('\n', ' ')),
    after: Buffer.from('\n\n'),
  };
}

function headOf({ kind, param, isFixed, choice, place, member }: SourceText, rules: FrameRules): ChannelHead {
  return { kind, param, isFixed, choice, isThought: rules.isThought(place, String(member)) };
}
