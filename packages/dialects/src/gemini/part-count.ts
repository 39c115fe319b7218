import { AppError } from '@gatehouse/kit/errors';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { wrongType } from '../request-fields.ts';
import { maxElements } from '../bounds.ts';
import { valueOf } from './fields.ts';

/** Counts contents with their parts, and those in results of tools: readers walk through all of them at once. */
export class PartCount {
  #count = 0;

  /** Throws for parts of another type, and for more than any conversation has. */
  add(content: Fields, path: string): void {
    const parts = valueOf(content, 'parts') ?? [];
    if (typeof parts !== 'object') throw wrongType(`${path}.parts`, ['array']);
    this.addMany(1 + sizeOf(parts));
    for (const part of listOf(parts)) {
      const result = isFields(part) ? valueOf(part, 'functionResponse') : undefined;
      if (isFields(result)) this.addMany(sizeOf(valueOf(result, 'parts')));
    }
  }

  /** Throws for more than any conversation has. */
  addMany(count: number): void {
    this.#count += count;
    if (this.#count > maxElements)
      throw new AppError('invalid_value', `The contents have more than ${maxElements} parts.`, {
        param: 'contents',
      });
  }
}

function sizeOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0;
}
