# Names and commands only; the logic is in the tools that these call.
.PHONY: native
native:
	cmake -S . -B build/native -G Ninja -DCMAKE_BUILD_TYPE=Release -DTAU_TOOL=ON -DTAU_TOOL_DESTINATION=_native \
	  -DCMAKE_INSTALL_PREFIX=$(CURDIR)/tool/tautochrone
	cmake --build build/native
	cmake --install build/native
