# The official Python SDK, with its blocking and its async client.
source ./lib.sh
python_environment openai
exec "$python" -B python/openai_sdk.py
