# scim2-tester, which checks servers by the RFCs of SCIM, as an identity provider of a tenant.
source ./lib.sh
python_environment scim
exec "$python" -B python/scim_rfcs.py
