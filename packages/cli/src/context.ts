import type { Readable } from 'node:stream';
import { ApiClient } from './api-client.ts';
import { Output, type Format } from './output.ts';
import { addressOf, checkedProfile, Profiles, type Profile } from './profiles.ts';

/** The options of every command. */
export interface SharedOptions {
  profile?: string;
  output?: Format;
  /** Short for `output: 'json'`. */
  json?: boolean;
}

/** A command's access to everything outside itself. */
export interface Surroundings {
  environment: Readonly<Record<string, string | undefined>>;
  stdin: Readable;
  write: (text: string) => void;
  /** Whether standard output is a terminal. */
  isTerminal: boolean;
  /** Resolves when standard output takes more. */
  drain: () => Promise<void>;
  /** Asks the person; null without one. */
  confirm: (question: string) => Promise<boolean | null>;
  /** Opens an address in the browser of the person. */
  open: (url: string) => void;
  /** Is aborted when the command is interrupted. */
  signal: AbortSignal;
  version: string;
}

/** Gives commands their client, profiles and output. */
export class Context {
  readonly surroundings: Surroundings;
  readonly profiles: Profiles;

  constructor(surroundings: Surroundings) {
    this.surroundings = surroundings;
    this.profiles = new Profiles(surroundings.environment);
  }

  /** `GATEHOUSE_URL` and `GATEHOUSE_API_KEY` together stand in for a profile. */
  async client(options: SharedOptions): Promise<ApiClient> {
    return this.clientOf(await this.profile(options));
  }

  clientOf(profile: Profile): ApiClient {
    const { version, signal } = this.surroundings;
    return new ApiClient(checkedProfile(profile), version, signal);
  }

  /** A client for requests to finish after an interruption of the command, so their effect is known. */
  async steadyClient(options: SharedOptions): Promise<ApiClient> {
    return new ApiClient(checkedProfile(await this.profile(options)), this.surroundings.version);
  }

  /** A client for requests without a key, which go on likewise. */
  strangerOf(url: string): ApiClient {
    return new ApiClient({ url: addressOf(url), key: '' }, this.surroundings.version);
  }

  async profile(options: SharedOptions): Promise<Profile> {
    const { GATEHOUSE_URL: url, GATEHOUSE_API_KEY: key } = this.surroundings.environment;
    if (options.profile === undefined && url !== undefined && key !== undefined) return { url, key };
    return this.profiles.get(this.nameOf(options));
  }

  /** Name of the profile chosen by the options or the environment; undefined for the current one. */
  nameOf({ profile }: SharedOptions): string | undefined {
    return profile ?? this.surroundings.environment['GATEHOUSE_PROFILE'];
  }

  output({ json = false, output = json ? 'json' : 'table' }: SharedOptions): Output {
    return new Output(this.surroundings.write, output);
  }
}
