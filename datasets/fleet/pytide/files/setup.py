%%gone pyproject
from setuptools import setup

setup(name="pytide", version="«version»", packages=["pytide"], install_requires=["requests>=«requests»"])
