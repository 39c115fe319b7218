# The Python library of Standard Webhooks against what Gatehouse signs and accepts. Needs no gateway.
source ./lib.sh
python_environment standardwebhooks
exec node standard-webhooks.ts "$python" -B python/standard_webhooks.py
