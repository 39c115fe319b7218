import type { Fields } from '@gatehouse/kit/fields';
import { latestReport, sumReports } from '../usage/reported-usage.ts';
import { JsonSource } from '../wire/json-text.ts';
import { frameData } from '../wire/sse-frames.ts';
import type { ToolStream } from '../dialect.ts';
import { JoinedStream } from '../joined-stream.ts';
import { ContentBuilder } from './content-builder.ts';
import { callsTools, eventOf, frameOf, MessageProgress, stopFrame } from './events.ts';
import { exactInput, isCall, nameOf, type SaidContent } from './said-content.ts';

/**
 * Passes the events of several calls of a model on as one message: the client sees one start, blocks that are numbered in
 * turn, one end with the usage of all, and none of the calls that the gateway makes itself. Frames that need no change
 * stay as they are.
 */
export class MessageToolStream extends JoinedStream implements ToolStream {
  #isFirst = true;
  #content = new ContentBuilder();
  /** The index that the client gets for each block of the call under way; null for calls of the gateway. */
  #indexes = new Map<number, number | null>();
  #shownBlocks = 0;
  #hasOthersCall = false;
  #hasOwnCall = false;
  /** The usage of the calls before, and of the one under way. */
  #before: unknown;
  #progress = new MessageProgress();
  /** Passed on once no call of a tool follows: why the message stopped, and its usage. */
  #held: { frame: Buffer; fields: Fields } | null = null;

  /** Calls of the gateway are left out of every answer, so it need not know which may have one. */
  next(): void {
    this.#isFirst = false;
    this.#content = new ContentBuilder();
    this.#indexes = new Map();
    this.#hasOwnCall = false;
    this.#before = sumReports(this.#before, this.#progress.usage);
    this.#progress = new MessageProgress();
    this.#held = null;
  }

  get message(): SaidContent {
    return this.#content.built.stopped((Object(this.#held?.fields['delta']) as Fields)['stop_reason']);
  }

  finish(): void {
    if (this.#held === null) return;
    const { frame, fields } = this.#held;
    const isChanged = !this.#isFirst || this.#hasOwnCall;
    this.send([isChanged ? frameOf({ ...this.#ended(fields), type: 'message_delta' }) : frame]);
  }

  endFrames(): Buffer[] {
    return [stopFrame];
  }

  #ended(fields: Fields): Fields {
    const delta = Object(fields['delta']) as Fields;
    const isOver = callsTools(delta) && !this.#hasOthersCall;
    return {
      ...fields,
      delta: isOver ? { ...delta, stop_reason: 'end_turn' } : delta,
      usage: sumReports(this.#before, this.#progress.usage),
    };
  }

  protected override passed(frame: Buffer): Buffer[] {
    const event = eventOf(frame);
    if (event === null) return [frame];
    const { type, index: place } = event;
    this.#progress.add(event);
    const fields = type === 'content_block_start' ? exactStart(event.fields, frame) : event.fields;
    switch (type) {
      case 'message_start':
        return this.#isFirst ? [frame] : [];
      case 'content_block_start':
        this.#content.start(place, fields['content_block']);
        this.#open(place, fields['content_block']);
        break;
      case 'content_block_delta':
        this.#content.add(place, fields['delta']);
        break;
      case 'content_block_stop':
        break;
      case 'message_delta':
        this.#hold(frame, fields);
        return [];
      default:
        return [frame];
    }
    const index = this.#indexes.get(place);
    if (index === null || index === undefined) return [];
    return [index === fields['index'] ? frame : frameOf({ ...fields, type, index })];
  }

  /** Some servers say why the message stopped and its usage in two events. */
  #hold(frame: Buffer, fields: Fields): void {
    const before = this.#held?.fields;
    if (before === undefined) {
      this.#held = { frame, fields };
      return;
    }
    const merged = {
      ...{ ...before, ...fields, type: 'message_delta', usage: this.#progress.usage },
      delta: latestReport(Object(before['delta']) as Fields, fields['delta']),
    };
    this.#held = { frame: frameOf(merged), fields: merged };
  }

  #open(index: number, block: unknown): void {
    const isOwn = isCall(block) && this.isOwn(nameOf(block));
    this.#hasOwnCall ||= isOwn;
    this.#hasOthersCall ||= isCall(block) && !isOwn;
    this.#indexes.set(index, isOwn ? null : this.#shownBlocks);
    if (!isOwn) this.#shownBlocks += 1;
  }
}

/** Some servers write the whole input of a call in its start. */
function exactStart(fields: Fields, frame: Buffer): Fields {
  const source = (): JsonSource | null =>
    new JsonSource(Buffer.from(frameData(frame) ?? '')).member('content_block');
  return { ...fields, content_block: exactInput(fields['content_block'], source) };
}
