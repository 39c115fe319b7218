-- Cost of runs in pico-USD (10^-12 USD), as integers; null without a price.

alter table chat.runs
  add column cache_write_tokens bigint,
  add column cost_pico bigint,
  add column price_source text constraint runs_price_source_check check (price_source in ('catalogue', 'genai-prices')),
  -- Whether every call that used tokens has a price.
  add column priced boolean,
  add constraint runs_ended_at_check check ((status = 'started') = (ended_at is null));

alter table chat.attempts
  add column cache_write_tokens bigint,
  add column cost_pico bigint,
  add column price_source text
    constraint attempts_price_source_check check (price_source in ('catalogue', 'genai-prices'));
