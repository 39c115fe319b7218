/** Readings of a file. A change counts when two in a row agree, so that no file is used while it is written. */
export class Readings {
  #used: string | undefined;
  #last: string | undefined;

  /** `used`: the reading that is in use. */
  constructor(used?: string) {
    this.#used = used;
  }

  /** Whether a reading is a change that counts. From then on it is the one in use. */
  isChange(reading: string): boolean {
    const agrees = reading === this.#last;
    this.#last = reading;
    if (!agrees || reading === this.#used) return false;
    this.#used = reading;
    return true;
  }
}
