import { query } from './query.ts';

/** Found before `pg_catalog`, so that `now()` and `clock_timestamp()` in a service's statements are these. */
const functions = `
  create schema moved_clock;
  create table moved_clock.shift (by interval not null);
  insert into moved_clock.shift values ('0');
  create function moved_clock.now() returns timestamptz stable language sql
    as 'select pg_catalog.now() + by from moved_clock.shift';
  create function moved_clock.clock_timestamp() returns timestamptz volatile language sql
    as 'select pg_catalog.clock_timestamp() + by from moved_clock.shift';
  grant usage on schema moved_clock to public;
  grant select on moved_clock.shift to public;
  do $$ begin
    execute format('alter database %I set search_path = moved_clock, pg_catalog, public', current_database());
  end $$`;

/**
 * The clock of a database of the test's own, which windows of limits go by: a test moves it instead of waiting for a
 * minute to pass. It only moves forward, as clocks do.
 */
export class DatabaseClock {
  readonly #adminUrl: string;

  private constructor(adminUrl: string) {
    this.#adminUrl = adminUrl;
  }

  /** Before the service connects: a session keeps the functions that it began with. */
  static async install(adminUrl: string): Promise<DatabaseClock> {
    await query(adminUrl, functions);
    return new DatabaseClock(adminUrl);
  }

  /** Moves on to the next moment at which a minute is that many seconds old. */
  async moveToSecond(second: number): Promise<void> {
    await query(
      this.#adminUrl,
      `update moved_clock.shift set by = by + make_interval(secs =>
         mod(60 + $1 - mod(extract(epoch from moved_clock.clock_timestamp()), 60), 60)::float8)`,
      [second],
    );
  }
}
